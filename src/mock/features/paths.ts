import type { FeatureOperation } from './operation.ts'

/** A feature service that a path names, whether or not it exists. */
export interface FeaturePath {
  area: 'admin' | undefined
  folderName: string
  serviceName: string
  /** Decoded segments after `FeatureServer`. */
  rest: readonly string[]
  /** The path up to `FeatureServer`, as the client wrote it. */
  servicePath: string
}

const TYPE = 'FeatureServer'

/**
 * Parses `[/rest][/admin]/services/[<folder>/]<name>/FeatureServer[/…]`.
 *
 * @returns undefined for other paths
 */
export function parseFeaturePath(path: string): FeaturePath | undefined {
  const segments = path.split('/').slice(1)
  if (segments.at(-1) === '') segments.pop()
  const decoded = decode(segments)
  if (!decoded) return undefined
  let start = decoded[0] === 'rest' ? 1 : 0
  const area = decoded[start] === 'admin' ? 'admin' : undefined
  if (area) start += 1
  if (decoded[start] !== 'services') return undefined
  // With a folder, the type is the third segment. A service may be named like the type.
  const place = [start + 3, start + 2].find((index) => decoded[index] === TYPE)
  if (place === undefined) return undefined
  const names = decoded.slice(start + 1, place)
  return {
    area,
    folderName: names.length === 2 ? (names[0] as string) : '',
    serviceName: names.at(-1) as string,
    rest: decoded.slice(place + 1),
    servicePath: `/${segments.slice(0, place + 1).join('/')}`,
  }
}

function decode(segments: readonly string[]): string[] | undefined {
  try {
    const decoded = segments.map(decodeURIComponent)
    return decoded.every((segment) => segment !== '' && !segment.includes('/')) ? decoded : undefined
  } catch {
    return undefined
  }
}

/** An operation and the parts of the path that its template names. */
export interface FeatureMatch {
  operation: FeatureOperation
  path: Record<string, string>
}

/** Finds the operation of a path. Names of operations are compared without regard to case. */
export function matchFeaturePath(
  operations: readonly FeatureOperation[],
  { area, rest }: FeaturePath,
): FeatureMatch | undefined {
  for (const operation of operations) {
    const template = operation.path === '' ? [] : operation.path.split('/')
    if (operation.area !== area || template.length !== rest.length) continue
    const path: Record<string, string> = {}
    const matches = template.every((part, index) => {
      const segment = rest[index] as string
      const name = placeholder(part)
      if (name === undefined) return part.toLowerCase() === segment.toLowerCase()
      path[name] = segment
      return !NUMBERS.includes(name) || /^\d{1,15}$/.test(segment)
    })
    if (matches) return { operation, path }
  }
  return undefined
}

const NUMBERS: readonly string[] = ['layerId', 'objectId', 'attachmentId']

const placeholder = (part: string): string | undefined =>
  part.startsWith('{') && part.endsWith('}') ? part.slice(1, -1) : undefined

/** All OpenAPI paths of an operation: with and without a folder. */
export const featurePathTemplates = ({ area, path }: Pick<FeatureOperation, 'area' | 'path'>): string[] =>
  ['{serviceName}', '{folderName}/{serviceName}'].map(
    (name) => `/rest${area ? '/admin' : ''}/services/${name}/${TYPE}${path === '' ? '' : `/${path}`}`,
  )
