import type { z } from 'zod'
import { tryJson } from '../../shared/json.ts'
import type { Context } from '../admin/operation.ts'
import type { User } from '../admin/tokens.ts'
import { AdminError } from '../http/errors.ts'
import {
  type Answer,
  INTEGER,
  type OperationDescription,
  type ParameterDescription,
  type Parameters,
  type Schema,
  TEXT,
} from '../http/operation.ts'
import { readAll, readBoolean, readInteger, single, type UploadedFile } from '../http/request.ts'
import { check } from '../schemas.ts'
import type { ServiceEvent } from '../state/events.ts'
import type { Service } from '../state/services.ts'
import type { FeatureRow, Reference } from './edit-types.ts'
import type { Extractions } from './extract/extractions.ts'
import type { FeatureData } from './feature-data.ts'
import { isSameReference } from './geometry.ts'
import type { Feature, Layer } from './model.ts'

/** The parts of a mock service that its feature services use. */
export interface FeatureContext extends Context {
  readonly extractions: Extractions
  /** Resolves once the last attempt has ended. */
  deliverEvents(service: Service, events: readonly ServiceEvent[]): Promise<unknown>
}

export interface FeatureCall {
  context: FeatureContext
  service: Service
  data: FeatureData
  user: User
  parameters: Parameters
  /** Files of a form, by the name of the field. */
  files: ReadonlyMap<string, UploadedFile>
  /** The parts of the path that the template names, for example `layerId`. */
  path: Readonly<Record<string, string>>
  /** The URL of the service as the client wrote it, without a slash at its end. */
  serviceUrl: string
}

/** The result of an operation. */
export type FeatureAnswer = Answer & {
  /** Whether the state must be saved before the response. Default false. */
  changed?: boolean
  /** The events to deliver. Default: none. */
  events?: readonly ServiceEvent[]
}

export interface FeatureOperation extends OperationDescription {
  name: string
  /** `admin` for a path below `/admin/services`; default: below `/services`. */
  area?: 'admin'
  /** The path after `FeatureServer/`; empty for the service itself. */
  path: string
  /** Schema of the response, or the media type of a response that is not JSON. */
  response: Schema | string
  /** True for a request that needs no token. Default: every request needs one, if the service has `auth`. */
  isOpen?(parameters: Parameters): boolean
  run(call: FeatureCall): FeatureAnswer
}

/** A parameter of an operation, and how its value is read. */
export interface Parameter<T> extends Omit<ParameterDescription, 'name' | 'read'> {
  read(parameters: Parameters, name: string): T
}

type ParametersByName = Readonly<Record<string, Parameter<unknown>>>

export type ValuesOf<P extends ParametersByName> = { [name in keyof P]: ReturnType<P[name]['read']> }

interface Declaration<P extends ParametersByName> extends Omit<FeatureOperation, 'parameters' | 'run'> {
  /** Default: none. */
  parameters?: P
  run(call: FeatureCall, values: ValuesOf<P>): FeatureAnswer
}

/** Declares an operation, which gets the values of its parameters. */
export function operation<P extends ParametersByName>({
  parameters,
  run,
  ...description
}: Declaration<P>): FeatureOperation {
  const list = Object.entries<Parameter<unknown>>(parameters ?? {}).map(([name, parameter]) => ({
    ...parameter,
    name,
  }))
  return {
    ...description,
    parameters: list,
    run: (call) => run(call, readAll(withNames(call.parameters, list), list) as ValuesOf<P>),
  }
}

/** Names parameters as an operation declares them. Clients spell some of them in several ways. */
function withNames(parameters: Parameters, declared: readonly { name: string }[]): Parameters {
  const names = new Map(declared.map(({ name }) => [name.toLowerCase(), name]))
  const renamed = new Map<string, string[]>()
  for (const [given, values] of parameters) {
    const name = names.get(given.toLowerCase()) ?? given
    renamed.set(name, [...(renamed.get(name) ?? []), ...values])
  }
  return renamed
}

/** Creates parameters of a kind, which are optional. */
type Kind<T> = (description: string) => Parameter<T | undefined>

const kind =
  <T>(schema: Schema, read: (parameters: Parameters, name: string) => T | undefined): Kind<T> =>
  (description) => ({ description, required: false, schema, read })

export const required = <T>(parameter: Parameter<T | undefined>): Parameter<T> =>
  ({ ...parameter, required: true }) as Parameter<T>

export const text: Kind<string> = kind(TEXT, single)
export const flag: Kind<boolean> = kind({ type: 'boolean' }, readBoolean)
export const whole: Kind<number> = kind(INTEGER, (parameters, name) => readInteger(parameters, name, {}))

export const json = <T>(schema: z.ZodType<T>, description: string): Parameter<T | undefined> =>
  kind(TEXT, (parameters, name) => {
    const value = readJson(parameters, name)
    return value === undefined || value === null ? undefined : check<T>(schema, value, name)
  })(description)

function readJson(parameters: Parameters, name: string): unknown {
  const value = single(parameters, name)
  const json = value === undefined ? undefined : tryJson(value)
  if (value !== undefined && json === undefined) throw new AdminError(400, `${name} is not valid JSON`)
  return json
}

/** One of some words, in any letter case. */
export const word = <W extends string>(words: readonly W[], description: string): Parameter<W | undefined> =>
  kind({ type: 'string', enum: words }, (parameters, name) => {
    const value = single(parameters, name)
    const found = words.find((known) => known.toLowerCase() === value?.toLowerCase())
    if (value === undefined || found) return found
    throw new AdminError(400, `${name} must be ${words.join(' or ')}`)
  })(description)

/** A parameter that would change the result, but that the mock does not support. */
export const refused = (reason: string): Parameter<undefined> =>
  kind<undefined>(TEXT, (parameters, name) => {
    if (single(parameters, name) === undefined) return undefined
    throw new AdminError(400, `${name}: ${reason}`)
  })(`Not supported: ${reason}.`)

/** A list of rows as JSON. The rows are checked when they are applied. */
export const rows: Kind<FeatureRow[]> = kind(TEXT, readList<FeatureRow>)

function readList<T>(parameters: Parameters, name: string): T[] | undefined {
  const value = readJson(parameters, name)
  if (value === undefined || Array.isArray(value)) return value
  throw new AdminError(400, `${name} must be a JSON array`)
}

/** Ids: comma-separated, or as a JSON array, whose items are not checked. */
export const ids: Kind<Reference[]> = kind(TEXT, (parameters, name) => {
  const value = single(parameters, name)
  if (value === undefined || value.trimStart().startsWith('[')) return readList(parameters, name)
  return value
    .split(',')
    .map((id) => id.trim())
    .filter((id) => id !== '')
})

/** A spatial reference: a number, or JSON with `wkid`. */
export const spatialReference: Kind<number> = kind(TEXT, (parameters, name) => {
  const value = readJson(parameters, name)
  const { wkid = value } = (value ?? {}) as { wkid?: unknown }
  if (wkid === undefined || typeof wkid === 'number') return wkid
  throw new AdminError(400, `${name} must be a number, or JSON with wkid`)
})

/** Refuses a spatial reference other than that of the layers. */
export function requireReference(layers: Iterable<Layer>, wkid: number | undefined): void {
  for (const layer of layers)
    if (wkid !== undefined && !isSameReference(wkid, layer.spatialReference.wkid))
      throw new AdminError(
        400,
        `outSR must be ${layer.spatialReference.wkid}, because the mock does not project`,
      )
}

export function layerOf({ data, path }: Pick<FeatureCall, 'data' | 'path'>): Layer {
  const layer = data.layers.get(Number(path.layerId))
  if (layer) return layer
  throw new AdminError(404, 'the layer does not exist')
}

export function featureOf(call: FeatureCall): Feature {
  const feature = layerOf(call).features.get(Number(call.path.objectId))
  if (feature) return feature
  throw new AdminError(404, 'the feature does not exist')
}

export const object = (
  properties: Schema,
  required: readonly string[] = Object.keys(properties),
): Schema => ({ type: 'object', properties, required })
