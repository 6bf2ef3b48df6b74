import { sha256 } from '#runtime'
import type { GenerationStore } from '../inbox/generations.ts'
import { joinKeyOf } from '../payload/changes-url.ts'
import { utf8 } from '../shared/bytes.ts'
import { COPIED, HIGHEST, highestOf, seenKey } from './catch-up.ts'
import { ChangesError } from './errors.ts'
import type { ServiceChanges } from './extract.ts'
import type { ServiceRequest } from './source.ts'

type Generations = ReadonlyMap<number, number>
type Describe = () => Promise<readonly { serverGen: number }[]>

/** What a handler has handled of a service before a request. */
export interface Handled {
  /** True if the handler has handled the whole window, and the delivery is not a rerun. */
  isLate: boolean
  /** Generation up to which the handler has handled all changes of the layers, if it has handled some. */
  end: number | undefined
  /** Stores what the handler has handled, after its success. */
  raise(services: readonly ServiceChanges[]): Promise<void>
}

/** @param describe requests the current generations of the service */
export async function readHandled(
  generations: GenerationStore,
  request: ServiceRequest,
  { handler, isRerun }: { handler: string; isRerun: boolean },
  describe: Describe,
): Promise<Handled> {
  const { service, layers = [], window } = request
  const { max = -Infinity } = window
  const key = await toKey(handler)
  const [ranges, seen] = await Promise.all([generations.get(service, key), generations.get(seenKey(service))])
  const isLate =
    !isRerun &&
    isHandled(request, ranges, seen.get(COPIED)) &&
    (await reaches(Math.max(max, seen.get(HIGHEST) ?? max), describe))
  return {
    isLate,
    end: endOf(request, ranges),
    async raise(services) {
      // As after an extraction: otherwise, catchUp would announce these changes again and again.
      if (isLate) return generations.raise(service, new Map(layers.map((layer) => [layer, max])))
      const extracted = services.find((each) => joinKeyOf(each.request) === joinKeyOf(request))
      if (extracted) await generations.raise(service, toRanges(extracted, ranges), key)
    },
  }
}

/** Shortens a key that a store would reject. */
const toKey = async (handler: string): Promise<string> =>
  /^[ -~]{1,200}$/.test(handler) ? handler : sha256(utf8(handler))

/** False if the service was restored or replaced: then a window can have other changes than those that were handled. */
async function reaches(generation: number, describe: Describe): Promise<boolean> {
  try {
    return highestOf(await describe()) >= generation
  } catch (error) {
    if (error instanceof ChangesError && error.code === 'changes_failed') return false
    throw error
  }
}

/** A pseudo layer, for extractions of all layers. */
const ALL = -1

/** The key of the begin of a range. Its end is stored under the id of the layer. */
const beginKey = (layer: number): number => -3 - layer

/** The changes of a layer after one generation up to another. */
function rangeOf(ranges: Generations, layer: number): { begin: number; end: number } | undefined {
  const begin = ranges.get(beginKey(layer))
  const end = ranges.get(layer)
  return begin === undefined || end === undefined ? undefined : { begin, end }
}

/** The generation up to which all layers of the request were handled. Undefined if one of them never was. */
function endOf(request: ServiceRequest, ranges: Generations): number | undefined {
  const { layers = [ALL] } = request
  const rangeOrAll = (layer: number) => rangeOf(ranges, layer) ?? rangeOf(ranges, ALL)
  const end = layers.reduce((least, layer) => Math.min(least, rangeOrAll(layer)?.end ?? Number.NaN), Infinity)
  return hasRanges(request) && Number.isFinite(end) ? end : undefined
}

/** @param copied generation before the last copy of the service, which contains all earlier changes */
function isHandled(request: ServiceRequest, ranges: Generations, copied = -Infinity): boolean {
  const { window, layers = [ALL] } = request
  const { min, max } = window
  if (max === undefined || !hasRanges(request)) return false
  const covers = (layer: number): boolean => {
    const range = rangeOf(ranges, layer)
    return range !== undefined && range.begin <= Math.max(min, copied) && max <= range.end
  }
  return max <= copied || covers(ALL) || layers.every(covers)
}

/**
 * Returns the ranges to store after an extraction. A range that continues a stored one keeps its begin; after a gap it
 * begins anew. Stores keep the highest begins and ends, so what they store is part of what was handled, even if several
 * attempts store their ranges at the same time.
 *
 * @param stored the ranges before the extraction
 */
function toRanges({ request, begin, ends }: ServiceChanges, stored: Generations): Map<number, number> {
  const { layers = [ALL] } = request
  const ranges = new Map<number, number>()
  if (!hasRanges(request)) return ranges
  for (const layer of layers) {
    const end = layer === ALL ? highest(ends) : ends.get(layer)
    const known = rangeOf(stored, layer) ?? rangeOf(stored, ALL)
    if (end === undefined) continue
    ranges.set(beginKey(layer), known && begin <= known.end ? known.begin : begin)
    ranges.set(layer, end)
  }
  return ranges
}

const highest = (ends: Generations): number | undefined =>
  ends.size === 0 ? undefined : [...ends.values()].reduce((one, other) => Math.max(one, other))

/** Versions of the data share the generations, but not the changes. Layers have no negative ids. */
const hasRanges = ({ parameters, layers = [] }: ServiceRequest): boolean =>
  !parameters.get('gdbversion') && layers.every((layer) => layer >= 0)
