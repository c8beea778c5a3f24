/*
 * Planted faults. A build with -Dplant=N (MUSTER_PLANT) has fault N and no other, to show that the
 * simulator's tests find it; tests/sim/test_plants builds them all. A usual build has none: there
 * the macros are constants.
 */
#ifndef MUSTER_CORE_PLANT_H
#define MUSTER_CORE_PLANT_H

#ifndef MUSTER_PLANT
#define MUSTER_PLANT 0
#endif

#define PLANTED(number) (MUSTER_PLANT == (number))
/* The wrong expression in a build with this fault, else the right one. */
#define PLANT(number, wrong, right) (PLANTED(number) ? (wrong) : (right))

#endif
