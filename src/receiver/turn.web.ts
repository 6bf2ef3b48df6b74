/**
 * Where there is nothing to wait for: workers, edge runtimes and browsers, in some of which requests cannot share a
 * promise; Bun, which does not answer pipelined requests so late; Deno.
 */
export function endOfTurn(): void {}

/** Elsewhere a body is cancelled, and the platform ends the request. */
export function drainBeside(_request: object, _context: unknown, _limit: number): undefined {}
