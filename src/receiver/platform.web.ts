/**
 * Does not wait outside Node: Bun answers pipelined requests only without such a delay, and workers cannot share a
 * promise between requests.
 */
export function endOfTick(): void {}

/** Does nothing outside Node: the platform ends the request itself when its body is cancelled. */
export const drainWebRequest = (_request: object, _context: unknown, _limit: number): boolean => false
