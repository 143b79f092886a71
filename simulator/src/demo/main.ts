// Read before the program loads, which takes seconds: the npm that started it may end meanwhile.
const parent = process.ppid

void import("./Demo.ts").then(({ start }) => start(parent))
