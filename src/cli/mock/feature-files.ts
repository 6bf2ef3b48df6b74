import { basename } from 'node:path'
import type { GeoJsonCollection, ServiceSeed, SnapshotSeed } from '../../mock/index.ts'
import { usageError } from '../errors.ts'
import { readJson, toRecord } from '../io/json.ts'
import type { Io } from '../terminal/io.ts'

/** A feature service that a file gives its features. */
export interface FeatureFile {
  file: string
  service: ServiceSeed & { serviceType: 'FeatureServer' }
}

/** Reads GeoJSON files. Each becomes a service with one layer, both with the name of the file. @throws {CliError} exit code 2 */
export async function readFeatureFiles(io: Io, files: readonly string[]): Promise<FeatureFile[]> {
  const found: FeatureFile[] = []
  for (const file of files) {
    const name = basename(file).replace(/\.(geo)?json$/i, '')
    if (found.some(({ service }) => service.serviceName === name))
      throw usageError(`two files of --features have the name ${name}`, 'Each becomes a service: rename one.')
    const features = toCollection(file, await readJson(io, file))
    const service = { serviceName: name, serviceType: 'FeatureServer', layers: [{ name, features }] } as const
    found.push({ file, service })
  }
  return found
}

/** The seed checks the features later. @throws {CliError} exit code 2 */
function toCollection(file: string, value: unknown): GeoJsonCollection {
  const { type } = toRecord(value) ?? {}
  if (type === 'FeatureCollection') return value as GeoJsonCollection
  if (type === 'Feature')
    return { type: 'FeatureCollection', features: [value as GeoJsonCollection['features'][number]] }
  throw usageError(`${file}: it must be a GeoJSON FeatureCollection or Feature`, undefined, 'file_invalid')
}

/**
 * Adds services to a seed. They replace services of the seed that have no layers.
 *
 * @throws {CliError} exit code 2 if a service already has layers
 */
export function withServices(seed: SnapshotSeed, files: readonly FeatureFile[]): SnapshotSeed {
  if (files.length === 0 || (seed.services !== undefined && !Array.isArray(seed.services))) return seed
  const services = files.map(({ file, service }) => {
    const others = seed.services?.filter((other) => isSame(other, service)) ?? []
    if (others.some(({ layers }) => layers !== undefined))
      throw usageError(`${file}: the seed already has layers for the service ${service.serviceName}`)
    return service
  })
  const others = seed.services?.filter((other) => !services.some((service) => isSame(other, service))) ?? []
  return { ...seed, services: [...services, ...others] }
}

/** Also works with the entries of an invalid seed, which is checked later. */
const isSame = (other: Partial<ServiceSeed> | null | undefined, { serviceName }: ServiceSeed): boolean =>
  other?.serviceName === serviceName && other.serviceType === 'FeatureServer' && !other.folderName
