/** The parts of the suite, in their order of execution and in docs/performance.md. */
export const PARTS = ['verify', 'http', 'memory', 'start', 'growth', 'inbox', 'mock']
