"""The topologies that the tests of the torch engine run, with their numbers of nodes; importable without torch."""

CUT = "Torus(3,3), cut 0,1"
TOPOLOGIES = {
    "UniRing(1,5)": 5,
    "BiRing(2,6)": 6,
    "K_{4,4}": 8,
    "L(K_{2,2})": 8,
    "Torus(3,3)": 9,
    CUT: 9,
    "C(12,{2,3})": 12,
    "Pi_{4,16}": 16,
}
