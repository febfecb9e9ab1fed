# SPDX-License-Identifier: GPL-2.0-or-later
"""The benchmarks, a folder an experiment; bench/run starts them."""
