import { WebhookError } from '../errors.ts'
import { guard } from './guard.ts'

/** Any schema that implements Standard Schema (standardschema.dev) version 1: zod, valibot, arktype and others. */
export interface StandardSchema<Output = unknown> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    /** Returns the output of the schema, or the issues of an invalid payload. */
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined
  }
}

type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly { readonly message: string }[] }

/**
 * Validates a payload and returns the output of the schema.
 *
 * @throws {WebhookError} `payload_invalid` with the schema's issues as its cause; `handler_failed` if the schema itself
 *   throws
 */
export async function validate<Output>(schema: StandardSchema<Output>, payload: unknown): Promise<Output> {
  const check = () => schema['~standard'].validate(payload)
  const result = await guard('handler_failed', check, 'the schema threw an error')
  if (!result.issues) {
    if ('value' in result) return result.value
    throw new TypeError('the schema returned neither a value nor issues')
  }
  throw new WebhookError('payload_invalid', { message: result.issues[0]?.message, cause: result.issues })
}
