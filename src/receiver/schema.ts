import { WebhookError } from '../errors.ts'
import { guard } from './guard.ts'

/** Any schema that follows Standard Schema (standardschema.dev), version 1: zod, valibot, arktype and others. */
export interface StandardSchema<Output = unknown> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined
  }
}

type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly { readonly message: string }[] }

/**
 * Checks a payload, and gives what the schema makes of it.
 *
 * @throws {WebhookError} `payload_invalid`, with the schema's issues as its cause; `handler_failed` where the schema
 *   itself fails
 */
export async function validate<Output>(schema: StandardSchema<Output>, payload: unknown): Promise<Output> {
  const check = () => schema['~standard'].validate(payload)
  const result = await guard('handler_failed', check, 'the schema failed')
  if (!result.issues) return result.value
  throw new WebhookError('payload_invalid', { message: result.issues[0]?.message, cause: result.issues })
}
