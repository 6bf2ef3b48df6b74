import { EditError } from './edits.ts'
import { MAX_TEXT } from './limits.ts'
import { type Field, type FieldType, type Layer, toGlobalId, type Value } from './model.ts'

const INTEGERS: Partial<Record<FieldType, number>> = {
  esriFieldTypeSmallInteger: 32_767,
  esriFieldTypeInteger: 2_147_483_647,
  esriFieldTypeBigInteger: Number.MAX_SAFE_INTEGER,
  esriFieldTypeDate: 8.64e15,
  esriFieldTypeOID: Number.MAX_SAFE_INTEGER,
}

/**
 * Checks a value of an attribute.
 *
 * @throws {EditError} 1001 for null in a field that is not nullable, 1016 for a value that the field cannot have
 */
export function readValue(field: Field, value: unknown): Value {
  const { name, type, nullable, length = MAX_TEXT } = field
  if (value === null) {
    if (nullable) return null
    throw new EditError(1001, `Field: ${name} is not nullable. Cannot set null value.`)
  }
  const limit = INTEGERS[type]
  if (limit !== undefined) {
    if (Number.isInteger(value) && Math.abs(value as number) <= limit) return value as number
    throw cannotSet(
      name,
      type === 'esriFieldTypeDate' ? 'milliseconds since 1970' : `a whole number up to ${limit}`,
    )
  }
  if (type === 'esriFieldTypeDouble' || type === 'esriFieldTypeSingle') {
    if (typeof value === 'number' && Number.isFinite(value)) return value
    throw cannotSet(name, 'a number')
  }
  if (type === 'esriFieldTypeGUID' || type === 'esriFieldTypeGlobalID') {
    const id = toGlobalId(value)
    if (id !== undefined) return id
    throw cannotSet(name, 'a UUID')
  }
  if (typeof value === 'string' && value.length <= length) return value
  throw cannotSet(name, `a text of at most ${length} characters`)
}

const cannotSet = (name: string, rule: string): EditError =>
  new EditError(1016, `Setting of value for ${name} failed. It must be ${rule}.`)

/**
 * Checks the attributes of a row. Names are compared without regard to case.
 *
 * @returns the values of editable fields, by the name of the field
 * @throws {EditError} 1000 for an unknown field name, and the errors of {@link readValue}
 */
export function readAttributes(
  { fields }: Pick<Layer, 'fields'>,
  attributes: Readonly<Record<string, unknown>>,
): Record<string, Value> {
  const byName = new Map(fields.map((field) => [field.name.toLowerCase(), field]))
  const values: Record<string, Value> = {}
  for (const [name, value] of Object.entries(attributes)) {
    const field = byName.get(name.toLowerCase())
    if (!field) throw new EditError(1000, `The layer has no field ${JSON.stringify(name.slice(0, 64))}.`)
    if (field.editable) values[field.name] = readValue(field, value)
  }
  return values
}
