# MPI ranks of emulated nodes have no network but TCP, and few real CPUs to spin on.
export OMPI_MCA_btl=self,sm,tcp OMPI_MCA_pml=ob1
export OMPI_MCA_btl_tcp_if_include=10.0.0.0/24
export OMPI_MCA_mpi_yield_when_idle=1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
