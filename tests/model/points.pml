/* Points, clocks and slot reuse of the engine (runtime/engine): the order in which things may be seen.
 *
 * One submitter gives TASKS tasks with arbitrary accesses to arbitrary lanes; waits come from a frontier and are reduced
 * through the clocks of the points waited for. Workers start what is ready, a device ends it with or without a failure, a canceller
 * marks one task that has not started, and a waiter waits for one point as engine_clock_wait does: look without the lock, pin and help the
 * head of the lane, sleep. What the engine does under its lock is atomic here too, but for the end of a task, whose
 * stores are seen by those who look without the lock.
 *
 * Checked: a task starts when every earlier one that it conflicts with is over and none of those failed; who sees a point over sees its
 * failure; a slot has one task at a time; no state from which nothing goes on before all is over (invalid end states: lost
 * wake-ups, tasks that never become ready); and, as LTL with fairness, that all tasks are over in the end.
 *
 * BROKEN takes one rule away; the check must then fail:
 *   1  a failure is stored after its point is over
 *   2  a wait is dropped because a later one is there, without asking its clock
 *   3  a slot is finished when the device is done, although others have it pinned
 *   4  a sleeper reads the word that it sleeps on outside the lock, after it has looked at the point
 *   5  the head of a lane does not become ready when its predecessor is over */
#ifndef TASKS
#define TASKS 4
#endif
#ifndef SLOTS
#define SLOTS 2
#endif
#ifndef WORKERS
#define WORKERS 1
#endif
#ifndef BROKEN
#define BROKEN 0
#endif
#define LANES 2
#define BUFFERS 2
#define NEVER 255
#define NOBODY 255

/* Lanes. Sequences count from 1; 0 is "already". */
byte completed[LANES], issued[LANES];
byte failed[LANES] = NEVER;
byte wanted = NEVER, beat; /* of the one lane that somebody waits for */
bool asleep;

/* The frontier: for each buffer and lane the newest write and read. */
typedef by_lane { byte at[LANES] };
by_lane wrote[BUFFERS], read[BUFFERS];

/* lane and sequence to slot, and to the clock of the point */
typedef by_sequence { byte at[TASKS + 1] };
by_sequence ring[LANES];
typedef clocks { by_lane point[TASKS + 1] };
clocks clock[LANES];

mtype = { FREE, WAITING, READY, CLAIMED, STARTED };
typedef slot_type {
  mtype state = FREE;
  byte task = NOBODY, lane, sequence, own_wait, pending, pins, dependents;
  bool inherited, cause, passed, device_has, used
};
slot_type slot[SLOTS];

/* What the tasks really are, which the engine does not remember. */
typedef task_type { byte lane, sequence, reads, writes; bool over, bad };
task_type task[TASKS];
byte wait_task, wait_lane, wait_sequence; /* what the waiter waits for */
byte submitted, over_count, failures;
bool lock;

#define all_over (over_count == TASKS)
#define point_over(l, s) (completed[l] >= (s))
#define slot_free (slot[0].state == FREE || slot[1].state == FREE || (SLOTS > 2 && slot[SLOTS - 1].state == FREE))
#define bit(n, i) (((n) >> (i)) & 1)
#define conflict(a, b) ((task[a].writes & (task[b].reads | task[b].writes)) || (task[a].reads & task[b].writes))

/* Only inside atomic steps, so everybody may use them. */
hidden byte i, j, chosen, waits[LANES], keep[LANES];

inline ready_locked(s) {
  if
  :: failed[slot[s].lane] <= slot[s].own_wait -> slot[s].inherited = true
  :: else
  fi;
  slot[s].passed = slot[s].passed || slot[s].inherited;
  slot[s].state = READY
}

/* waits[] as the frontier says, then without what other waits include. */
inline waits_compute_locked(t) {
  i = 0;
  do
  :: i < LANES ->
     waits[i] = 0;
     j = 0;
     do
     :: j < BUFFERS ->
        if
        :: bit(task[t].reads | task[t].writes, j) && wrote[j].at[i] > waits[i] -> waits[i] = wrote[j].at[i]
        :: else
        fi;
        if
        :: bit(task[t].writes, j) && read[j].at[i] > waits[i] -> waits[i] = read[j].at[i]
        :: else
        fi;
        j++
     :: else -> break
     od;
     i++
  :: else -> break
  od;
  i = 0;
  do
  :: i < LANES ->
     keep[i] = waits[i];
     j = 0;
     do
     :: j < LANES ->
        if
#if BROKEN == 2
        :: j > i && waits[j] != 0 -> keep[i] = 0
#else
        :: j != i && waits[j] != 0 && clock[j].point[waits[j]].at[i] >= waits[i] -> keep[i] = 0
#endif
        :: else
        fi;
        j++
     :: else -> break
     od;
     i++
  :: else -> break
  od
}

/* The clock of the new point: its waits, its lane, and what those include. */
inline clock_store_locked(l, s) {
  i = 0;
  do
  :: i < LANES ->
     clock[l].point[s].at[i] = clock[l].point[s - 1].at[i];
     j = 0;
     do
     :: j < LANES ->
        if
        :: waits[j] != 0 && clock[j].point[waits[j]].at[i] > clock[l].point[s].at[i] ->
           clock[l].point[s].at[i] = clock[j].point[waits[j]].at[i]
        :: else
        fi;
        j++
     :: else -> break
     od;
     i++
  :: else -> break
  od;
  clock[l].point[s].at[l] = s
}

inline frontier_record_locked(t, l, s) {
  j = 0;
  do
  :: j < BUFFERS ->
     if
     :: bit(task[t].writes, j) -> wrote[j].at[l] = s
     :: else
     fi;
     if
     :: bit(task[t].reads, j) -> read[j].at[l] = s
     :: else
     fi;
     j++
  :: else -> break
  od
}

inline edges_add_locked(c, l) {
  i = 0;
  do
  :: i < LANES ->
     if
     :: keep[i] != 0 && i == l -> slot[c].own_wait = keep[i]
     :: keep[i] != 0 && i != l && !point_over(i, keep[i]) ->
        chosen = ring[i].at[keep[i]];
        assert(slot[chosen].lane == i && slot[chosen].sequence == keep[i] && slot[chosen].state != FREE);
        slot[chosen].dependents = slot[chosen].dependents | (1 << c);
        slot[c].pending++
     :: keep[i] != 0 && i != l && point_over(i, keep[i]) && failed[i] <= keep[i] -> slot[c].inherited = true
     :: else
     fi;
     i++
  :: else -> break
  od
}

/* The one atomic step of stream_submit. */
inline enter_locked(t, l, c) {
  c = 0;
  do
  :: slot[c].state == FREE -> break
  :: else -> c++
  od;
  assert(!slot[c].used && slot[c].task == NOBODY && slot[c].pins == 0);
  waits_compute_locked(t);
  issued[l]++;
  task[t].lane = l;
  task[t].sequence = issued[l];
  slot[c].state = WAITING;
  slot[c].used = true;
  slot[c].task = t;
  slot[c].lane = l;
  slot[c].sequence = issued[l];
  slot[c].own_wait = 0;
  slot[c].pending = 0;
  slot[c].dependents = 0;
  slot[c].inherited = false;
  slot[c].cause = false;
  slot[c].passed = false;
  ring[l].at[issued[l]] = c;
  edges_add_locked(c, l);
  clock_store_locked(l, issued[l]);
  frontier_record_locked(t, l, issued[l]);
  submitted++;
  if
  :: slot[c].pending == 0 && slot[c].sequence == completed[l] + 1 -> ready_locked(c)
  :: else
  fi
}

active proctype submitter() {
  byte t, l, c;
  do
  :: t < TASKS ->
     atomic {
       !lock && slot_free ->
       if
       :: task[t].writes = 1
       :: task[t].reads = 1
       :: t > 0 -> task[t].reads = 1; task[t].writes = 2
       fi;
       if
       :: l = 0
       :: t > 0 -> l = 1 /* the lanes are alike */
       fi;
       d_step { enter_locked(t, l, c); c = 0; l = 0; t++ }
     }
  :: else -> break
  od
}

inline edges_resolve_locked(s) {
  i = 0;
  do
  :: i < SLOTS ->
     if
     :: bit(slot[s].dependents, i) ->
        assert(slot[i].state == WAITING && slot[i].pending > 0);
        if
        :: bad || failed[slot[s].lane] <= slot[s].sequence -> slot[i].inherited = true
        :: else
        fi;
        slot[i].pending--;
        if
        :: slot[i].pending == 0 && slot[i].sequence == completed[slot[i].lane] + 1 -> ready_locked(i)
        :: else
        fi
     :: else
     fi;
     i++
  :: else -> break
  od
}

inline failure_store() {
  if
  :: bad && failed[l] == NEVER -> failed[l] = q
  :: else
  fi
}

/* task_finish: each store that somebody could see without the lock is a step of its own. */
inline finish(s) {
  atomic { !lock -> lock = true };
  d_step {
    assert(slot[s].task != NOBODY && !task[slot[s].task].over);
    t = slot[s].task;
    l = slot[s].lane;
    q = slot[s].sequence;
    bad = slot[s].cause || slot[s].inherited || slot[s].passed;
    assert(q == completed[l] + 1);
    task[t].bad = bad
  };
#if BROKEN != 1
  failure_store();
#endif
  d_step {
    edges_resolve_locked(s);
    slot[s].state = FREE;
    slot[s].task = NOBODY;
    slot[s].used = false;
    slot[s].pins = 0;
    /* the rest only so that states do not differ by what nobody reads */
    slot[s].lane = 0;
    slot[s].sequence = 0;
    slot[s].own_wait = 0;
    slot[s].dependents = 0;
    slot[s].inherited = false;
    slot[s].cause = false;
    slot[s].passed = false
  };
  d_step {
    completed[l] = q;
    task[t].over = true;
    over_count++
  };
#if BROKEN == 1
  failure_store();
#endif
  d_step {
    wake = false;
    if
    :: BROKEN != 5 && issued[l] > q && slot[ring[l].at[q + 1]].pending == 0 ->
       chosen = ring[l].at[q + 1];
       ready_locked(chosen)
    :: else
    fi;
    if
    :: l == wait_lane && wanted <= q -> wanted = NEVER; beat++; wake = true
    :: else
    fi;
    lock = false
  };
  if
  :: wake -> asleep = false
  :: else
  fi;
  d_step { t = 0; l = 0; q = 0; bad = false; wake = false }
}

/* The last one out finishes the task. */
inline unpin(s) {
  d_step {
    assert(slot[s].pins > 0 && slot[s].state != FREE);
    slot[s].pins--;
    last = slot[s].pins == 0
  };
  if
  :: last -> finish(s)
  :: else
  fi
}

inline starts(s) {
  t = slot[s].task;
  i = 0;
  do
  :: i < t ->
     assert(!conflict(i, t) || (task[i].over && !task[i].bad));
     i++
  :: else -> break
  od;
  t = 0
}

#define state_is(s, x) (slot[s].state == x)
#define ready_any (state_is(0, READY) || state_is(1, READY) || state_is(SLOTS - 1, READY))

active [WORKERS] proctype worker() {
  byte s, t, l, q;
  bool bad, wake, last;
  do
  :: atomic {
       ready_any && !lock ->
       if
       :: state_is(0, READY) -> s = 0
       :: state_is(1, READY) -> s = 1
       :: state_is(SLOTS - 1, READY) -> s = SLOTS - 1
       fi;
       slot[s].state = CLAIMED
     };
     if
     :: slot[s].passed -> finish(s)
     :: else ->
        d_step {
          starts(s);
          slot[s].pins = 2;
          slot[s].device_has = true
        };
        slot[s].state = STARTED;
        unpin(s)
     fi;
     s = 0
  :: all_over -> break
  od
}

#define device_any (slot[0].device_has || slot[1].device_has || slot[SLOTS - 1].device_has)

active proctype device() {
  byte s, t, l, q;
  bool bad, wake, last;
  do
  :: atomic {
       device_any ->
       if
       :: slot[0].device_has -> s = 0
       :: slot[1].device_has -> s = 1
       :: slot[SLOTS - 1].device_has -> s = SLOTS - 1
       fi;
       slot[s].device_has = false;
       if
       :: failures == 0 -> failures++; slot[s].cause = true
       :: true
       fi
     };
#if BROKEN == 3
     finish(s);
#else
     unpin(s);
#endif
     s = 0
  :: all_over -> break
  od
}

/* Once at most, and instead of a failure: both mark a task and what follows it. */
active proctype canceller() {
  atomic {
    !lock && failures == 0 && (state_is(0, WAITING) || state_is(1, WAITING)) ->
    failures++;
    if
    :: state_is(0, WAITING) -> slot[0].passed = true
    :: state_is(1, WAITING) -> slot[1].passed = true
    fi
  } unless { all_over || failures > 0 }
}

/* Waits for one point, as soon as it is known. */
active proctype waiter() {
  byte s, t, l, q, seen;
  bool bad, wake, last, over, pinned;
  atomic {
    submitted > 0 && !lock ->
    if
    :: wait_task = submitted - 1
    :: submitted < TASKS -> submitted == TASKS && !lock -> wait_task = TASKS - 1
    fi;
    wait_lane = task[wait_task].lane;
    wait_sequence = task[wait_task].sequence
  };
  do
  :: over = point_over(wait_lane, wait_sequence);
     if
     :: over -> break
     :: else
     fi;
     /* help */
     atomic {
       !lock ->
       pinned = false;
       if
       :: issued[wait_lane] > completed[wait_lane] && !point_over(wait_lane, wait_sequence) ->
          s = ring[wait_lane].at[completed[wait_lane] + 1];
          if
          :: state_is(s, STARTED) && slot[s].pins > 0 -> slot[s].pins++; pinned = true
          :: else
          fi
       :: else
       fi
     };
     if
     :: pinned -> unpin(s); pinned = false; s = 0
     :: else -> s = 0
     fi;
     /* sleep */
#if BROKEN == 4
     over = point_over(wait_lane, wait_sequence);
     atomic {
       !lock ->
       if
       :: !over && wanted > wait_sequence -> wanted = wait_sequence
       :: else
       fi
     };
     seen = beat;
#else
     atomic {
       !lock ->
       seen = beat;
       over = point_over(wait_lane, wait_sequence);
       if
       :: !over && wanted > wait_sequence -> wanted = wait_sequence
       :: else
       fi
     };
#endif
     if
     :: over -> break
     :: else ->
        atomic {
          if
          :: beat == seen -> asleep = true
          :: else
          fi
        };
        !asleep
     fi
  od;
  /* who sees a point over sees why it failed */
  assert(!task[wait_task].bad || failed[wait_lane] <= wait_sequence)
}

ltl ends { <> all_over }
