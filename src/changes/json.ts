import { requireSafe, tryJson } from '../payload/json.ts'
import { ChangesError } from './errors.ts'

/** A JSON object of unknown shape. */
export type Json = Readonly<Record<string, unknown>>

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * Parses a response, by the same rules as payloads.
 *
 * @param shown the URL for errors
 * @throws {WebhookError} `changes_malformed`
 */
export function parseAnswer(text: string, shown: string): Json {
  const value = tryJson(text)
  if (!isObject(value)) {
    const kind = /^\s*</.test(text) ? 'an HTML page' : text === '' ? 'empty' : 'not a JSON object'
    throw malformed(`the response of ${shown} is ${kind}`)
  }
  try {
    requireSafe(value)
  } catch {
    throw malformed(`the response of ${shown} is nested too deeply, or contains a forbidden key`)
  }
  return value
}

export const malformed = (message: string): ChangesError =>
  new ChangesError('changes_malformed', {
    message,
    hint: 'Check that the URL is that of a feature service, and that no login page or proxy answers in its place.',
  })
