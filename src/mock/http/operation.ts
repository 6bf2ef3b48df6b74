import type { ServerResponse } from 'node:http'
import type { z } from 'zod'
import type { ErrorFormat } from './errors.ts'

export type Method = 'GET' | 'POST' | 'DELETE'

export type Parameters = ReadonlyMap<string, readonly string[]>

/** A JSON Schema, for the OpenAPI document. */
export type Schema = Readonly<Record<string, unknown>>

export const TEXT: Schema = { type: 'string' }
export const INTEGER: Schema = { type: 'integer' }
export const listOf = (items: Schema): Schema => ({ type: 'array', items })

/** A parameter as the OpenAPI document describes it. */
export interface ParameterDescription {
  name: string
  required: boolean
  description: string
  schema: Schema
  /** Reads a value that needs other checks than those of the schema. @returns undefined if it is absent */
  read?: ((parameters: Parameters, name: string) => unknown) | undefined
}

/** An operation, without the code that runs it. The router and the OpenAPI document are generated from these. */
export interface OperationDescription {
  summary: string
  /** The first version of the service with this operation. Default: every version. */
  since?: string
  /** GET includes HEAD. */
  methods: readonly Method[]
  /** Parameters in addition to {@link COMMON_PARAMETERS}. Default: none. */
  parameters?: readonly ParameterDescription[]
  /** Names of the fields that can have a file, as `multipart/form-data`. Default: none. */
  files?: readonly string[]
  /** Schema of a body of JSON. Default: a POST request has a form. */
  body?: z.ZodType
  /** True if the parameters change the state, so that only a POST request can have them. */
  changes?: boolean
}

export interface Route<Operation extends OperationDescription = OperationDescription> {
  /** OpenAPI path, for example `/services/{service}/webhooks/{webhookId}/edit`. */
  path: string
  /** Further paths, which the OpenAPI document does not contain. */
  aliases?: readonly string[]
  /** Words of the path that requests can write in any letter case. */
  anyCase?: readonly string[]
  operation: Operation
  tag: 'administration' | 'features' | 'control'
  /** Id of the operation in the OpenAPI document, unique for each path and method. */
  idOf(method: Method): string
  /** The responses in the OpenAPI document, by HTTP status. */
  responsesOf(errors: ErrorOptions): object
}

/** How errors of the administration are sent. */
export interface ErrorOptions {
  errorFormat: ErrorFormat
  httpStatus: 'rest' | 'always200'
}

/** A reference to a schema of the OpenAPI document. */
export const schemaRef = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` })

/** The content of a response in every format. */
export const contentOf = (schema: object): object => ({
  'application/json': { schema },
  'text/html': { schema: { type: 'string' } },
})

/** Names in a path by their parameter, decoded. */
export type PathNames = Readonly<Record<string, string>>

/** The result of an operation: JSON, or a response that the operation sends itself. */
export type Answer =
  | { body: object /** Default 200. */; status?: number }
  | { send(res: ServerResponse): void }

/** Methods of operations that read. With POST, clients can keep the token out of the URL. */
export const READ_METHODS: readonly ('GET' | 'POST')[] = ['GET', 'POST']
export const CHANGE_METHODS: readonly 'POST'[] = ['POST']

type Describe = (name: string, description: string, schema?: Schema) => ParameterDescription

const describe =
  (required: boolean): Describe =>
  (name, description, schema = TEXT) => ({ name, required, description, schema })

export const optional: Describe = describe(false)
export const required: Describe = describe(true)

/** Parameters of every operation except those of the control API. */
export const COMMON_PARAMETERS: readonly ParameterDescription[] = [
  optional('f', 'Format of the response. Default: html for browsers, otherwise json.', {
    type: 'string',
    enum: ['json', 'pjson', 'html'],
  }),
  optional('token', 'The token of the user, if the service uses tokens. A header can carry it too.'),
]
