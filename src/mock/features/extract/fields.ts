import { type Parameters, single } from '../../admin/form-fields.ts'
import { AdminError } from '../../http/errors.ts'

/** Reads the parameters of a request. Their names are compared without regard to case, as clients spell one in three ways. */
export interface Fields {
  /** The value; undefined if it is absent or empty. @throws {AdminError} 400 for a repeated parameter */
  text(name: string): string | undefined
  /** @throws {AdminError} 400 for a value other than `true` and `false` */
  flag(name: string): boolean | undefined
  /** @throws {AdminError} 400 for a value that is not JSON */
  json(name: string): unknown
}

export function toFields(parameters: Parameters): Fields {
  const byName = new Map<string, string[]>()
  for (const [name, values] of parameters) {
    const lower = name.toLowerCase()
    byName.set(lower, [...(byName.get(lower) ?? []), ...values])
  }
  const text = (name: string): string | undefined => {
    const values = byName.get(name.toLowerCase()) ?? []
    return single(new Map([[name, values]]), name)
  }
  return {
    text,
    flag(name) {
      const value = text(name)?.trim().toLowerCase()
      if (value === undefined) return undefined
      if (value === 'true' || value === 'false') return value === 'true'
      throw new AdminError(400, `${name} must be true or false`)
    },
    json(name) {
      const value = text(name)
      if (value === undefined) return undefined
      try {
        return JSON.parse(value)
      } catch {
        throw new AdminError(400, `${name} is not valid JSON`)
      }
    },
  }
}
