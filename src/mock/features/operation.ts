import type { Response } from 'express'
import type { User } from '../admin/auth.ts'
import { type Parameters, single } from '../admin/form-fields.ts'
import type { Context, ParameterDescription } from '../admin/operation.ts'
import { AdminError } from '../http/errors.ts'
import type { UploadedFile } from '../http/multipart.ts'
import type { ServiceEvent } from '../state/events.ts'
import type { Service } from '../state/services.ts'
import type { Extractions } from './extract/extractions.ts'
import type { FeatureData } from './feature-data.ts'
import type { Layer } from './model.ts'

/** The parts of a mock service that its feature services use. */
export interface FeatureContext extends Context {
  readonly extractions: Extractions
  /** Delivers the events of an edit, and does not wait for the deliveries. */
  publish(service: Service, events: readonly ServiceEvent[]): void
}

/** The arguments of an operation. */
export interface FeatureCall {
  context: FeatureContext
  service: Service
  data: FeatureData
  user: User
  method: 'GET' | 'POST'
  parameters: Parameters
  /** Files of a form, by the name of the field. */
  files: ReadonlyMap<string, UploadedFile>
  /** The parts of the path that the template names, for example `layerId`. */
  path: Readonly<Record<string, string>>
  /** The URL of the service as the client wrote it, without a slash at its end. */
  serviceUrl: string
}

/** The result of an operation: JSON, or a response that the operation sends itself. */
export type FeatureAnswer =
  | {
      body: object
      /** Whether the state must be saved before the response. Default false. */
      changed?: boolean
      /** The events to deliver. Default: none. */
      events?: readonly ServiceEvent[]
    }
  | { send(res: Response): void }

/** An operation of a feature service. The router and the OpenAPI document are generated from it. */
export interface FeatureOperation {
  /** Unique name. */
  name: string
  /** `admin` for a path below `/admin/services`; default: below `/services`. */
  area?: 'admin'
  /**
   * The path after `FeatureServer/`; empty for the service itself. Names in braces match one segment: `{layerId}`,
   * `{objectId}` and `{attachmentId}` for whole numbers, other names for any text.
   */
  path: string
  summary: string
  /** GET includes HEAD. */
  methods: readonly ('GET' | 'POST')[]
  /** Parameters in addition to `f` and `token`. */
  parameters: readonly ParameterDescription[]
  /** Names of the fields that can have a file, as `multipart/form-data`. Default: none. */
  files?: readonly string[]
  /** JSON Schema of the response, or the media type of a response that is not JSON. */
  response: Readonly<Record<string, unknown>> | string
  /** True for a request that needs no token. Default: every request needs one, if the service has `auth`. */
  isOpen?(parameters: Parameters): boolean
  run(call: FeatureCall): FeatureAnswer | Promise<FeatureAnswer>
}

/** @throws {AdminError} 404 if the service has no such layer */
export function layerOf({ data, path }: FeatureCall): Layer {
  const layer = data.layers.get(Number(path.layerId))
  if (layer) return layer
  throw new AdminError(404, 'the layer does not exist')
}

/** Reads `true` or `false`, without regard to case. @throws {AdminError} 400 for another value */
export function readBoolean(parameters: Parameters, name: string): boolean | undefined {
  const value = single(parameters, name)?.toLowerCase()
  if (value === undefined) return undefined
  if (value === 'true' || value === 'false') return value === 'true'
  throw new AdminError(400, `${name} must be true or false`)
}

/** Reads JSON. @throws {AdminError} 400 */
export function readJson(parameters: Parameters, name: string): unknown {
  const value = single(parameters, name)
  if (value === undefined) return undefined
  try {
    return JSON.parse(value)
  } catch {
    throw new AdminError(400, `${name} is not valid JSON`)
  }
}

/** Describes a parameter that is not required. */
export const optional = (
  name: string,
  description: string,
  schema: ParameterDescription['schema'] = { type: 'string' },
): ParameterDescription => ({ name, required: false, description, schema })

export const BOOLEAN: ParameterDescription['schema'] = { type: 'boolean' }
