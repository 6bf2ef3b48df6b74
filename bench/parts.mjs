/** The parts of the suite, in the order in which they run and appear in docs/performance.md. */
export const PARTS = ['verify', 'explain', 'http', 'memory', 'start', 'growth', 'inbox', 'mock', 'changes']
