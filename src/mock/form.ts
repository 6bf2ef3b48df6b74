import { parseForm } from '../payload/form.ts'
import { toText } from '../payload/text.ts'
import { AdminError } from './formats.ts'

/** The fields of a form body: strict UTF-8, bounded, in a Map. */
export type Parameters = ReadonlyMap<string, readonly string[]>

/** @throws {AdminError} 400 for a body that is not a form */
export function readParameters(body: unknown): Parameters {
  if (!(body instanceof Uint8Array) || body.length === 0) return new Map()
  try {
    return parseForm(toText(body))
  } catch (error) {
    throw new AdminError(400, (error as Error).message)
  }
}

/** @throws {AdminError} 400 where a parameter comes more than once */
export function single(parameters: Parameters, name: string): string | undefined {
  const values = parameters.get(name) ?? []
  if (values.length > 1) throw new AdminError(400, `${name} is given more than once`)
  return values[0] === '' ? undefined : values[0]
}
