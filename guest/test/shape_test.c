/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Expected values are written by hand from the pictures in the comments. */
#include "guest/shape.h"

#include "base/test/tap.h"

static struct guest_shape shape;

/* Begin with NODES nodes. */
static void begin(unsigned nodes)
{
	memset(&shape, 0, sizeof(shape));
	shape.nodes = nodes;
}

static void cpu(unsigned host, unsigned package, unsigned cache, unsigned core)
{
	shape.cpu[shape.cpus++] = (struct guest_cpu){
		.host = host, .package = package, .cache = cache, .core = core
	};
}

/* "SOCKETS DIES CORES THREADS FLAT: HOST=SOCKET.DIE.CORE.THREAD ..." */
static const char *fitted(void)
{
	static char text[1024];
	struct errbuf err = { 0 };
	int n;

	if (guest_shape_fit(&shape, &err) < 0)
		return strcpy(text, err.text);
	n = snprintf(text, sizeof(text), "%u %u %u %u %d:", shape.sockets, shape.dies, shape.cores,
		     shape.threads, shape.flat);
	for (unsigned i = 0; i < shape.cpus; i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n, " %u=%u.%u.%u.%u",
			      shape.cpu[i].host, shape.cpu[i].socket_id, shape.cpu[i].die_id,
			      shape.cpu[i].core_id, shape.cpu[i].thread_id);
	return text;
}

static void test_equal(void)
{
	begin(1);
	cpu(7, 0, 0, 7);
	is(fitted(), "1 1 1 1 0: 7=0.0.0.0", "one CPU is one core of one socket");

	/* two packages with two caches of one core with two threads; siblings are N and N + 4 */
	begin(1);
	for (unsigned i = 0; i < 8; i++)
		cpu(i, i % 4 / 2, i % 4, i % 4);
	is(fitted(),
	   "2 2 1 2 0: 0=0.0.0.0 4=0.0.0.1 1=0.1.0.0 5=0.1.0.1 2=1.0.0.0 6=1.0.0.1 3=1.1.0.0 "
	   "7=1.1.0.1",
	   "threads of a core lie side by side, and a die is a last-level cache");

	/* numbers of cores that begin anew in each package, as in /sys */
	begin(1);
	cpu(0, 0, 10, 0);
	cpu(1, 0, 10, 1);
	cpu(2, 1, 11, 0);
	cpu(3, 1, 11, 1);
	is(fitted(), "2 1 2 1 0: 0=0.0.0.0 1=0.0.1.0 2=1.0.0.0 3=1.0.1.0",
	   "equal numbers of cores in two packages are different cores");
}

static void test_flat(void)
{
	begin(1); /* three cores below one cache, one below the other */
	cpu(0, 0, 0, 0);
	cpu(1, 0, 0, 1);
	cpu(2, 0, 0, 2);
	cpu(3, 0, 1, 3);
	is(fitted(), "1 1 4 1 1: 0=0.0.0.0 1=0.0.1.0 2=0.0.2.0 3=0.0.3.0",
	   "caches with unequal numbers of cores give one flat die");

	begin(1); /* a core with two threads, one with one */
	cpu(0, 0, 0, 0);
	cpu(1, 0, 0, 0);
	cpu(2, 0, 0, 1);
	is(fitted(), "1 1 3 1 1: 0=0.0.0.0 1=0.0.1.0 2=0.0.2.0",
	   "cores with unequal numbers of threads give cores of one thread");

	begin(1); /* packages of two caches and of one */
	cpu(0, 0, 0, 0);
	cpu(1, 0, 1, 1);
	cpu(2, 1, 2, 2);
	is(fitted(), "1 1 3 1 1: 0=0.0.0.0 1=0.0.1.0 2=0.0.2.0",
	   "packages with unequal numbers of caches give one flat socket");
}

static void test_refused(void)
{
	begin(1);
	is(fitted(), "a guest needs a CPU and a memory node", "a guest without a CPU is refused");
	begin(0);
	cpu(0, 0, 0, 0);
	is(fitted(), "a guest needs a CPU and a memory node",
	   "a guest without a memory node is refused");
	begin(1);
	cpu(5, 0, 0, 0);
	shape.cpu[0].node = 1;
	is(fitted(), "CPU 5 has no memory node", "a CPU of a node that does not exist is refused");
}

static void test_divide(void)
{
	const uint64_t m = 1 << 20;
	struct errbuf err = { 0 };

	begin(3);
	is_int(guest_shape_divide(&shape, 10 * m, 2 * m, 2, &err), 0,
	       "five pages are divided among two nodes");
	ok(shape.node[0].bytes == 6 * m && shape.node[1].bytes == 4 * m && !shape.node[2].bytes,
	   "the first node has the odd page, a node of CPUs has none");
	is_int(guest_shape_divide(&shape, 2 * m, 2 * m, 2, &err), -1,
	       "one page for two nodes is refused");
	is(err.text, "1 pages are too few for 2 memory nodes: give more memory, or smaller pages",
	   "too few pages: the message has both numbers");
	is_int(guest_shape_divide(&shape, 3 * m, 2 * m, 1, &err), -1, "half a page is refused");
	is(err.text, "3145728 bytes of memory are not a multiple of 2097152",
	   "half a page: the message has both sizes");
}

int main(void)
{
	test_equal();
	test_flat();
	test_refused();
	test_divide();
	return tap_done();
}
