const strictUtf8 = /* @__PURE__ */ new TextDecoder('utf-8', { fatal: true })

/** Decodes strict UTF-8, and throws a TypeError for invalid bytes. */
export const decodeUtf8 = (bytes: Uint8Array): string => strictUtf8.decode(bytes)

/**
 * Returns immediately, because outside Node a delay would fail requests: Bun would not respond to pipelined requests,
 * and Cloudflare Workers cannot share a promise between requests.
 */
export function endOfTick(): void {}

/** Returns false. Outside Node, it is unknown how much of a body has arrived. */
export const bodyArrives = (_request: object, _context: unknown, _length: number): boolean => false

/** Does nothing. Outside Node, the platform ends the request when its body is cancelled. */
export const drainWebRequest = (_request: object, _context: unknown, _limit: number): undefined => undefined

/** Does nothing. Outside Node, the platform manages its streams. */
export const watchWebRequest = (_request: object, _context: unknown): void => {}

/** Returns false. Outside Node, the platform manages its connections. */
export const isClosingWebRequest = (_request: object, _context: unknown): boolean => false

/** Returns the text of a thrown value. Outside Node, the errors of `fetch` have no causes with codes and addresses. */
export const withCauses = (thrown: unknown, text: string = String(thrown)): string => text
