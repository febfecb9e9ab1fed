#!/bin/bash
#SBATCH -N1
#NODEOS {"acKind":"ImageManifest","acVersion":"0.8.11","name":"a","app":{"isolators":[
#NODEOS {"name":"container","value":{"cpus":4}}]}}
srun true
#NODEOS late
