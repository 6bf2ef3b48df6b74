import { z } from 'zod'

// Schemas of values that occur in several other schemas.

/** A path segment: no slashes, control characters or lone surrogates, and neither `.` nor `..`. */
export const pathPart: z.ZodString = z
  .string()
  .max(256)
  .regex(/^(?!\.{1,2}$)[^/\\\p{Cc}\p{Cs}]*$/u, 'must be usable in a path')
export const serviceName: z.ZodString = pathPart.min(1)
export const serviceType: z.ZodEnum<{
  FeatureServer: 'FeatureServer'
  GPServer: 'GPServer'
  Portal: 'Portal'
}> = z.enum(['FeatureServer', 'GPServer', 'Portal'])
export const time: z.ZodInt = z.int().min(0).max(8.64e15).meta({ description: 'Milliseconds since 1970' })
export const user: z.ZodString = z.string().max(256)
