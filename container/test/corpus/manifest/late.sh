#!/bin/sh
true
#NODEOS {}
