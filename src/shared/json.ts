/** Parses JSON. Returns `undefined` if the text is not JSON. */
export function tryJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // The engine's error is dropped, because its message quotes the body.
    return undefined
  }
}

/** A JSON object of unknown shape. */
export type Json = Readonly<Record<string, unknown>>

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
