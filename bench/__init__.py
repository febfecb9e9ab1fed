# SPDX-License-Identifier: GPL-2.0-or-later
"""The benchmarks: each folder is an experiment; bench/run starts it."""
