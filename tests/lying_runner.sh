#!/bin/sh
# lying_runner.sh COST [SED] - a runner that evaluates nothing: each trial is "correct" at COST. SED edits the outcome.
while read -r trial; do
  [ -n "$trial" ] || continue
  printf '%s\n' '{"tilewright":"outcome","version":1,"verdict":"correct","status":0,"message":"","coverage":"every element",
"took":0.1,"cost":COST,"cycles":COST,"seconds":0,"instructions":1,"utilization":0.5,"counters":[],"memory":[]}' |
    tr -d '\n' | sed "s/COST/$1/g;$2"
  echo
done
