#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Check that bash offers exactly the words that the programs print and that the plugin's table has.
Prints TAP."""

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time

SOURCE = os.path.abspath(
    os.environ.get("NODEOS_SOURCE")
    or os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
)
BUILD = os.path.abspath(os.environ.get("NODEOS_BUILD") or SOURCE)
TOOL = os.path.join(BUILD, "nodeosctl")
DRIVER = os.path.join(BUILD, "spank/test/options_driver")
OURS = os.path.join(SOURCE, "contrib/completions/nodeosctl")
SLURM = os.path.join(SOURCE, "contrib/completions/nodeos-slurm")

number = failures = 0


def ok(good, what, *detail):
    global number, failures
    number += 1
    failures += not good
    print(f"{'ok' if good else 'not ok'} {number} - {what}")
    for line in detail if not good else ():
        print(f"#   {line}")


def same(got, want, what):
    ok(
        sorted(got) == sorted(want),
        what,
        f"not offered: {sorted(set(want) - set(got))}",
        f"offered, but not expected: {sorted(set(got) - set(want))}",
        f"got: {sorted(got)}",
    )


def bash(script, cwd, env=None):
    r = subprocess.run(
        ["bash", "--norc", "-c", script],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=60,
        env=dict(os.environ, **(env or {})),
    )
    if r.stderr:
        print(f"# bash: {r.stderr.strip()}")
    return r.stdout.splitlines()


def quoted(words):
    return " ".join("'" + w.replace("'", "'\\''") + "'" for w in words)


def offered(words, cwd=".", before="", env=None, wordbreaks=True):
    """The completions of the last of WORDS. Words are split at "=", as readline does."""
    split = []
    for w in words:
        name, sep, value = w.partition("=")
        split += (
            [name, "="] + ([value] if value else [])
            if sep and wordbreaks and w.startswith("--")
            else [w]
        )
    file = OURS if words[0] == "nodeosctl" else SLURM
    return bash(
        f"{before}\n. '{file}'\nCOMP_WORDS=({quoted(split)}); COMP_CWORD={len(split) - 1};"
        f" COMPREPLY=()\n_nodeos{'ctl' if file == OURS else '_slurm'}"
        f' {quoted([words[0], split[-1], split[-2]])}\nfor w in "${{COMPREPLY[@]}}"; do printf'
        " '%s\\n' \"$w\"; done",
        cwd,
        env,
    )


def helped(*words):
    return subprocess.run(
        [TOOL, *words, "--help"], capture_output=True, text=True, timeout=60
    ).stdout


def options_of(text):
    """The short options of a usage text, and its long options, with "=" if they have a value."""
    longs = {
        name + ("=" if value else "")
        for name, value in re.findall(r"(--[a-z][a-z-]*)(=[A-Z\[])?", text)
    }
    longs -= {name[:-1] for name in longs if name.endswith("=")}
    table = text[text.index("Usage" if "Usage" in text else "usage") :]
    return longs | set(re.findall(r"^ +(-\w),", table, re.M))


def test_nodeosctl(commands, d):
    same(
        offered(["nodeosctl", ""]),
        commands + ["help", "--help", "--version", "-h", "-V"],
        "nodeosctl: the commands of its --help are offered",
    )
    same(offered(["nodeosctl", "help", ""]), commands, "nodeosctl help: the commands are offered")
    same(
        offered(["nodeosctl", "help", "plan", ""]),
        [],
        "nodeosctl help plan: no more words are offered",
    )
    same(
        offered(["nodeosctl", "p"]),
        ["plan", "provision"],
        "nodeosctl p: commands that begin with p are offered",
    )
    for command in commands + ["contention collect"]:
        text = helped(*command.split())
        want = options_of(text) | {"-h"}
        # only the usage text counts: sentences may name options of other commands, such as
        # "features --site"
        ok(want > {"-h"}, f"{command} --help lists options", text)
        same(
            offered(["nodeosctl", *command.split(), "-"]),
            want,
            f"nodeosctl {command} -: the options of its --help are offered",
        )
        same(
            offered(["nodeosctl", *command.split(), "--"]),
            {w for w in want if w.startswith("--")},
            f"nodeosctl {command} --: its long options are offered",
        )


def test_values(d):
    for name in ("a.json", "q r.json", "job.sh", "x.xml", "other"):
        open(os.path.join(d, name), "w").close()
    os.mkdir(os.path.join(d, "dir"))
    everything = ["a.json", "q r.json", "job.sh", "x.xml", "other", "dir", "bin"]
    for command in ("check", "plan"):
        same(
            set(offered(["nodeosctl", command, ""], d)),
            ["a.json", "q r.json", "job.sh", "dir", "bin"],
            f"{command}: manifests, job scripts and directories are offered",
        )
    same(
        offered(["nodeosctl", "check", "oth"], d),
        ["other"],
        "check: any file is offered if no manifest fits",
    )
    same(
        set(offered(["nodeosctl", "plan", "-t", ""], d)),
        ["x.xml", "dir", "bin"],
        "plan -t: XML files are offered",
    )
    same(
        set(offered(["nodeosctl", "plan", "--topology=x"], d)),
        ["x.xml"],
        "plan --topology=: XML files are offered",
    )
    same(
        set(offered(["nodeosctl", "plan", "--topology=x"], d, wordbreaks=False)),
        ["--topology=x.xml"],
        "plan --topology=: XML files are offered even if readline does not split words at =",
    )
    same(
        set(offered(["nodeosctl", "plan", "--topology", "x"], d)),
        ["x.xml"],
        "plan --topology FILE: XML files are offered",
    )
    same(
        set(offered(["nodeosctl", "plan", "--conf="], d)),
        everything,
        "plan --conf=: all files are offered",
    )
    same(offered(["nodeosctl", "plan", "-c", ""], d), [], "plan -c: nothing is offered")
    same(
        set(offered(["nodeosctl", "plan", "-c", "0-3", "a"], d)),
        ["a.json"],
        "plan -c CPUS: a manifest is offered after it",
    )
    same(offered(["nodeosctl", "report", ""], d), [], "report: no operand is offered")
    same(
        offered(["nodeosctl", "contention", ""], d),
        ["collect", "advise"],
        "contention: collect and advise are offered",
    )
    same(
        offered(["nodeosctl", "contention", "--json", ""], d),
        [],
        "contention --json: collect is not offered, because it must be the first word",
    )
    same(
        set(offered(["nodeosctl", "contention", "collect", "--conf=x"], d)),
        ["x.xml"],
        "contention collect --conf=: files are offered",
    )
    same(
        offered(["nodeosctl", "contention", "collect", ""], d),
        [],
        "contention collect: no operand is offered",
    )
    same(
        set(offered(["nodeosctl", "discover", "--output="], d)),
        everything,
        "discover --output=: all files are offered",
    )
    same(
        offered(["nodeosctl", "nothing", "-"], d),
        ["-h", "--help"],
        "an unknown command: help is offered",
    )
    policy = re.search(
        r"\btable\[.*?\n\};|names?\[.*?\};",
        open(os.path.join(SOURCE, "manifest/policy_name.c")).read(),
        re.S,
    ).group(0)
    names = set(re.findall(r'"([a-z]+)"', policy)) - {"unset", "user", "topo"}
    for words in (
        ["nodeosctl", "run", "--sched="],
        ["nodeosctl", "run", "-s", ""],
        ["srun", "--nodeos-sched="],
    ):
        got = offered(words, d)
        same(
            {p.partition(":")[0] for p in got},
            names,
            f"{' '.join(words)}: the policies of manifest/policy_name.c are offered",
        )
        for p in got:
            r = subprocess.run(
                [TOOL, "run", f"--sched={p}", "--", "true"],
                capture_output=True,
                text=True,
                timeout=60,
            )
            ok(
                r.returncode != 2,
                f"run --sched={p}: nodeosctl knows the policy that is offered",
                r.stderr,
            )


def test_node(d):
    """Completions take jobs and containers from nodeosctl. Here, a script stands for nodeosctl and
    prints the output of a node."""
    os.makedirs(os.path.join(d, "bin"), exist_ok=True)
    fake = os.path.join(d, "bin/nodeosctl")
    with open(fake, "w", encoding="utf-8") as f:
        f.write(f"""#!/bin/sh
case $1 in
list) [ -z "$ALICE" ] || exit 1
printf '%s\\n' 'JOB      STEP         UID' '1234     -            1000     sim' \
'1234     -  1000 vda' '77       0    1001 x' ;;
show) printf '%s\\n' 'node n0: 1 job of yours' 'job 1234 of alice (uid 1000)' '  asked: x' \
'  container sim: cpus 0-3 mems 0' '    container: enforced' \\
'  container vda: cpus 4' '  step batch: in no container' \
'  step 0: container sim' '    task_0: step 9: x' '  step 11: container vda' ;;
guest) printf '%s\\n' 'GUEST    STEP' '4711     7.0' '4812     -' ;;
*) exec '{TOOL}' "$@" ;;
esac
""")
    os.chmod(fake, 0o755)
    env = {"PATH": os.path.join(d, "bin") + ":" + os.environ["PATH"]}
    same(
        offered(["nodeosctl", "report", "--job="], d, env=env),
        ["1234", "77"],
        "report --job=: the jobs of nodeosctl list are offered",
    )
    same(
        offered(["nodeosctl", "show", "--job="], d, env=dict(env, ALICE="1")),
        ["1234"],
        "show --job=: a user's own jobs are offered",
    )
    for command in ("resize", "exec"):
        same(
            offered(["nodeosctl", command, "--step="], d, env=env),
            ["1234.0", "1234.11"],
            f"{command} --step=: srun's steps that nodeosctl show prints are offered",
        )
    same(
        offered(["nodeosctl", "exec", "--step=1234.1"], d, env=env, wordbreaks=False),
        ["--step=1234.11"],
        "exec --step=: steps are offered if words do not end at =",
    )
    same(
        offered(["nodeosctl", "exec", "--step", "1234.0", "v"], d, env=env),
        ["vda"],
        "exec --step STEP: containers are offered after it",
    )
    same(
        offered(["nodeosctl", "exec", ""], d, env=env),
        ["sim", "vda"],
        "exec: the containers of nodeosctl show are offered",
    )
    same(
        offered(["nodeosctl", "exec", "--job=1234", "v"], d, env=env),
        ["vda"],
        "exec --job=JOB: containers are offered after it",
    )
    same(
        offered(["nodeosctl", "exec", "--job", "1234", "v"], d, env=env),
        ["vda"],
        "exec --job JOB: containers are offered after it",
    )
    same(
        offered(["nodeosctl", "guest", ""], d, env=env),
        ["list", "console", "save", "restore", "gdb"],
        "guest: its commands are offered",
    )
    same(
        offered(["nodeosctl", "guest", "console", ""], d, env=env),
        ["4711", "4812"],
        "guest console: the guests of nodeosctl guest list are offered",
    )
    same(
        offered(["nodeosctl", "guest", "console", "4711", ""], d, env=env),
        [],
        "guest console GUEST: nothing is offered",
    )
    same(
        set(offered(["nodeosctl", "guest", "save", "--continue", "4812", "x"], d, env=env)),
        ["x.xml"],
        "guest save GUEST: files are offered",
    )
    same(
        set(offered(["nodeosctl", "guest", "restore", "x"], d, env=env)),
        ["x.xml"],
        "guest restore: files are offered",
    )
    ok(
        "cat" in offered(["nodeosctl", "exec", "sim", "ca"], d, env=env),
        "exec CONTAINER: commands are offered",
    )
    ok(
        "cat" in offered(["nodeosctl", "exec", "sim", "--", "ca"], d, env=env),
        "exec CONTAINER --: commands are offered",
    )
    ok(
        "cat" in offered(["nodeosctl", "run", "--sched=idle", "--", "ca"], d, env=env),
        "run --: commands are offered",
    )
    same(
        set(offered(["nodeosctl", "run", "-s", "idle", "cat", "a"], d, env=env)),
        ["a.json"],
        "run COMMAND: files are offered",
    )
    same(
        offered(["nodeosctl", "exec", "sim", "ls", "--js"], d, env=env),
        [],
        "exec CONTAINER COMMAND: no options of nodeosctl are offered",
    )
    shutil.copy(os.path.join(SOURCE, "etc/examples/coupled.json"), os.path.join(d, "coupled.json"))
    for words in (["--nodeos-manifest=coupled.json"], ["--nodeos-manifest", "coupled.json"]):
        same(
            offered(["srun", *words, "--nodeos-container="], d, env=env),
            ["none", "sim", "vda"],
            f"{' '.join(words)}: the manifest's containers are offered",
        )
    same(
        offered(
            ["srun", "--nodeos-container=s"],
            d,
            env=dict(env, SLURM_SPANK_NODEOS_REQUEST="nodeos 1;c=sim cpus=2;c=solve cpus=2;"),
        ),
        ["sim", "solve"],
        "--nodeos-container=: the containers of the shell's job are offered",
    )
    same(
        offered(["srun", "--nodeos-container="], d, env=env),
        ["none"],
        '--nodeos-container=: only "none" is offered if no containers are known',
    )


def test_slurm(d):
    r = subprocess.run([DRIVER], capture_output=True, text=True, timeout=60, check=True)
    table = dict(line.split("\t")[:2] for line in r.stdout.splitlines())
    want = [f"--{name}=" for name in table]
    ok(len(want) > 3, "the plugin registers options")
    same(offered(["srun", "--n"]), want, "srun: the plugin's options are offered")
    for command in ("sbatch", "salloc"):
        same(offered([command, "--n"]), want, f"{command}: the plugin's options are offered")
    same(offered(["srun", "-"]), want, "srun -: the plugin's options are offered")
    same(offered(["srun", ""]), [], "srun: no option is offered before a dash")
    same(
        offered(["/usr/bin/srun", "--nodeos-c"]),
        ["--nodeos-container=", "--nodeos-contention=", "--nodeos-cpus="],
        "/usr/bin/srun: the plugin's options are offered",
    )
    same(
        offered(["srun", "--nodeos="]),
        table["nodeos"].split("|"),
        "--nodeos=: the words of the plugin's table are offered",
    )
    text = open(os.path.join(SOURCE, "manifest/contention_name.c")).read()
    same(
        offered(["srun", "--nodeos-contention="]),
        set(re.findall(r'\[CONTENTION_\w+\] = "([a-z]+)"', text)),
        "--nodeos-contention=: the words of manifest/contention_name.c are offered",
    )
    same(
        offered(["srun", "--nodeos=o"], wordbreaks=False),
        ["--nodeos=off"],
        "--nodeos=: words are offered if words do not end at =",
    )
    same(
        set(offered(["srun", "--nodeos-manifest=x"], d)),
        ["x.xml"],
        "--nodeos-manifest=: files are offered",
    )
    same(offered(["srun", "--nodeos-cpus="], d), [], "--nodeos-cpus=: nothing is offered")
    # this function stands for Slurm's own completion; only its existence matters
    theirs = (
        "_theirs () { COMPREPLY=($(compgen -W '--nodes --ntasks --nodeos-cpus=' -- \"$2\")); echo"
        ' asked "$@" >&3; return ${THEIR_CODE:-0}; }; exec 3>asked\n'
    )
    registered = theirs + "complete -o nospace -F _theirs srun"
    same(
        offered(["srun", "--no"], d, before=registered),
        want + ["--nodes"],
        "Slurm's own completion: its options and ours are offered",
    )
    ok(
        open(os.path.join(d, "asked")).read() == "asked srun --no srun\n",
        "Slurm's own completion is called with srun's words",
    )
    same(
        offered(["srun", "--nodes"], d, before=registered),
        ["--nodes"],
        "Slurm's own completion: only its word is offered if no option of ours fits",
    )
    same(
        offered(["srun", "x"], d, before=registered),
        [],
        "Slurm's own completion: no options of ours are offered before a dash",
    )
    os.truncate(os.path.join(d, "asked"), 0)
    same(
        set(offered(["srun", "--nodeos-report=x"], d, before=registered)),
        ["x.xml"],
        "Slurm's own completion: the values of our options are offered, too",
    )
    ok(
        open(os.path.join(d, "asked")).read() == "",
        "Slurm's own completion is not called for values of the plugin's options",
    )
    same(
        bash(
            f"{registered}\n. {SLURM}\n. {SLURM}\ncomplete -p srun\nCOMP_WORDS=(srun --node);"
            " COMP_CWORD=1; THEIR_CODE=3 _nodeos_slurm srun --node srun; echo $?",
            d,
        ),
        ["complete -o nospace -F _nodeos_slurm srun", "3"],
        "Slurm's own completion keeps its flags and exit code, even if ours is read twice",
    )
    same(
        bash(f"complete -W 'a b' srun\n. {SLURM}\ncomplete -p srun", d),
        ["complete -W 'a b' srun"],
        "a completion that is no function stays unchanged",
    )
    same(
        bash(f". {SLURM}\ncomplete -p srun", d),
        ["complete -o bashdefault -o default -F _nodeos_slurm srun"],
        "without a completion of Slurm, files are offered as in plain bash",
    )
    # old and new releases of bash-completion load one file for all three commands when the first of
    # them is completed
    for loader in (
        "__load_completion () { test $1 = srun",
        "_comp_load () { test \"$*\" = '-- srun'",
    ):
        lazy = (
            theirs
            + loader
            + " && { echo loaded >>loads; complete -F _theirs srun; complete -F _theirs sbatch;"
            " }; }"
        )
        same(
            offered(["srun", "--nodeo"], d, before=lazy),
            want,
            f"{loader.split()[0]}: our options are offered beside Slurm's completion",
        )
        same(
            bash(
                f"{lazy}\n. {SLURM}\nCOMP_WORDS=(srun --nodes); COMP_CWORD=1\n_nodeos_slurm srun"
                " --nodes srun; _nodeos_slurm srun --nodes srun\necho ${COMPREPLY[@]}; complete"
                " -p srun sbatch; wc -l <loads",
                d,
            ),
            ["--nodes", "complete -F _nodeos_slurm srun", "complete -F _nodeos_slurm sbatch", "2"],
            f"{loader.split()[0]}: a shell loads Slurm's completion once",
        )
        os.remove(os.path.join(d, "loads"))


def typed(file, keys, d):
    """The words in the line of an interactive bash after KEYS were typed."""
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(d)
        os.execvpe(
            "bash",
            ["bash", "--norc", "--noprofile", "-i"],
            {"PATH": BUILD + ":" + os.environ["PATH"], "PS1": "", "TERM": "dumb", "HISTFILE": ""},
        )
    os.write(fd, f"bind 'set bell-style none'; . '{file}'; echo ready$((40 + 2))\n".encode())
    text, end, sent = "", time.time() + 60, False
    while time.time() < end:
        if select.select([fd], [], [], 0.2)[0]:
            try:
                text += os.read(fd, 4096).decode(errors="replace")
            except OSError:
                break
        if not sent and "ready42" in text:
            sent = True
            os.write(fd, ("echo +++; : " + "\x01\x0b" + keys + "\x01printf '<%s>' \x05\n").encode())
        if re.search(r"<[^%]*>", text):
            break
    os.write(fd, b"\x03exit\n")
    os.close(fd)
    os.waitpid(pid, 0)
    return re.findall(r"<([^%>]*)>", text)


def test_typed(d):
    """When a tab is typed, readline completes the same words as the functions."""
    same(
        typed(OURS, "nodeosctl disc\t--ou\tx.x\t", d),
        ["nodeosctl", "discover", "--output=x.xml"],
        "nodeosctl disc<TAB>--ou<TAB>x.x<TAB> is completed",
    )
    same(
        typed(OURS, "nodeosctl check q\t", d),
        ["nodeosctl", "check", "q r.json"],
        "nodeosctl check q<TAB>: a file with a blank is completed",
    )
    same(
        typed(SLURM, "srun --nodeos-man\ta.j\t--nodeos-c\tp\t3", d),
        ["srun", "--nodeos-manifest=a.json", "--nodeos-cpus=3"],
        "srun --nodeos-man<TAB>a.j<TAB> is completed",
    )
    same(
        typed(SLURM, "srun oth\t", d),
        ["srun", "other"],
        "srun oth<TAB>: a file is completed",
    )


def main():
    if not os.access(TOOL, os.X_OK):
        print("1..0 # SKIP no nodeosctl in the build tree")
        return 0
    if shutil.which("shellcheck"):
        r = subprocess.run(["shellcheck", "-x", OURS, SLURM], capture_output=True, text=True)
        ok(r.returncode == 0, "shellcheck finds nothing in the completions", *r.stdout.splitlines())
    commands = re.findall(r"^  ([\w-]+)", helped(), re.M)
    with tempfile.TemporaryDirectory() as d:
        os.mkdir(os.path.join(d, "bin"))
        test_nodeosctl(commands, d)
        test_values(d)
        test_node(d)
        test_slurm(d)
        test_typed(d)
    print(f"1..{number}")
    return failures > 0


sys.exit(main())
