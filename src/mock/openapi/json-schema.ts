import { z } from 'zod'

/** A JSON Schema. */
export type Schema = Readonly<Record<string, unknown>>

/** Converts a zod schema to the JSON Schema of the values that it accepts. */
export function toJsonSchema(schema: z.ZodType): Schema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io: 'input' })
  return rest
}

/** Schema of an object with these members and no others. */
export const exactly = (properties: Record<string, unknown>, optional: readonly string[] = []): Schema => ({
  type: 'object',
  properties,
  required: Object.keys(properties).filter((name) => !optional.includes(name)),
  additionalProperties: false,
})

/** The schema of a response, in which no member is optional. */
export const withAllMembers = (schema: z.ZodObject): Schema => toJsonSchema(schema.required())

const reference = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` })
/** Schema of a list of values that another schema describes. */
export const listOf = (name: string): Schema => ({ type: 'array', items: reference(name) })

export const TEXT: Schema = { type: 'string' }
export const TIME: Schema = { type: 'integer', minimum: 0, description: 'Milliseconds since 1970' }
