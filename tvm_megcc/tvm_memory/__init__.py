"""How TVM plans memory with our planner: the pass `PlanMemory` and what it is made of."""
