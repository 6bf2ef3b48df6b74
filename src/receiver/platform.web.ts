/** Does nothing outside Node: the platform ends the request itself when its body is cancelled. */
export const drainWebRequest = (_request: object, _context: unknown, _limit: number): boolean => false
