import { blameCaller, configInvalid } from '../../errors.ts'
import type { NewRow, RowStore } from '../../inbox/rows.ts'
import { type OptionNames, requireKnownOptions } from '../../options.ts'
import { isObject } from '../json.ts'
import type { Changes, Feature } from '../types.ts'
import { type Attempt, createAttempt } from './attempt.ts'
import { toValue } from './compare-layer.ts'
import { createIdReader } from './ids.ts'
import { forgetRows, writeRows } from './store.ts'
import type { LayerComparison, Snapshots, SnapshotsContext } from './types.ts'

/** Options of {@link createSnapshots}. */
export interface SnapshotsOptions {
  /** Store of the rows, created by `createSqliteRows`, `createPostgresRows` or, for tests, `createMemoryRows`. */
  store: RowStore
  /**
   * Name of the attribute that identifies a feature. The case of the name, and braces and case of its values, are
   * ignored. Deleted features are found by their object id, by this id if services send it for them, and with the option
   * `deletedFeatures` of `createChanges` also by their global id. Default: the global id, otherwise
   * the object id.
   */
  idField?: string | undefined
}

const NAMES: OptionNames<SnapshotsOptions> = { store: true, idField: true }

/**
 * Creates snapshots, which store the last handled row of each feature, so that handlers can compare features before and
 * after a change.
 *
 * @throws {WebhookError} `config_invalid`
 *
 * @example
 * ```ts
 * import { createReceiver } from 'geohook'
 * import { createChanges, createSnapshots } from 'geohook/changes'
 * import { createMemoryRows } from 'geohook/inbox'
 *
 * const changes = createChanges({ token: 'secret', origins: ['https://gis.example.com'] })
 * const snapshots = createSnapshots({ store: createMemoryRows() })
 *
 * createReceiver({ signatureKey: 'test' }).on('FeaturesEdited', async (event, delivery, context) => {
 *   const layers = await snapshots.compare(await changes.of(event, context), context)
 *   for (const { features } of layers)
 *     for (const { id, kind, before, after, changed } of features) console.log(id, kind, before, after, changed)
 * })
 * ```
 */
export function createSnapshots(options: SnapshotsOptions): Snapshots {
  const { store, idField } = blameCaller(createSnapshots, () => readOptions(options))
  /** The attempts by their `onSuccess`, because a signal can outlive an attempt. */
  const attempts = new WeakMap<object, Attempt>()

  function attemptOf({ onSuccess }: SnapshotsContext): Attempt {
    const attempt = attempts.get(onSuccess) ?? createAttempt(store, idField)
    attempts.set(onSuccess, attempt)
    return attempt
  }

  return {
    async compare<Attributes extends object>(changes: Changes<Attributes>, context: SnapshotsContext) {
      requireArguments(changes, context)
      return attemptOf(context).compare(changes as unknown as Changes, context) as Promise<
        LayerComparison<Attributes>[]
      >
    },
    async fill(service, layerId, features, generation = 0) {
      if (!Number.isSafeInteger(layerId) || !Number.isSafeInteger(generation))
        throw configInvalid(
          'fill(service, layerId, features, generation): layerId and generation must be integers',
        )
      if (!Array.isArray(features) || !features.every(isFeature))
        throw configInvalid('fill(): features must be an array of objects with the member attributes')
      const layer = { service: readService(service), id: layerId }
      await writeRows(store, { layer, rows: toRows(layerId, features, idField), generation })
    },
    async forget(service) {
      await forgetRows(store, readService(service))
    },
  }
}

function readOptions(options: SnapshotsOptions): SnapshotsOptions {
  requireKnownOptions(options, NAMES)
  const { store, idField } = options ?? {}
  const isStore = [store?.read, store?.write, store?.forget].every((call) => typeof call === 'function')
  if (!isStore) throw configInvalid('store must be a store of rows, for example createSqliteRows({ path })')
  if (idField !== undefined && (typeof idField !== 'string' || idField === ''))
    throw configInvalid('idField must be the name of an attribute')
  return { store, idField }
}

function requireArguments(changes: unknown, context: Partial<SnapshotsContext> | undefined): void {
  if (!Array.isArray((changes as Changes | undefined)?.layers))
    throw configInvalid('compare(changes, context): changes must be the result of changes.of()')
  if (typeof context?.onSuccess !== 'function')
    throw configInvalid(
      'compare(changes, context) needs the function onSuccess',
      'Pass the third argument of the handler as a whole: compare(changes, context).',
    )
}

const isFeature = (value: unknown): boolean => isObject(value) && isObject(value.attributes)

/** Spells the URL of a service as `changes.of` does. */
function readService(service: string): string {
  const url = typeof service === 'string' && URL.canParse(service) ? new URL(service) : undefined
  if (!url || url.search || url.hash || /\/FeatureServer\/\d+\/?$/i.test(url.pathname))
    throw configInvalid('service must be the URL of a feature service, without a layer and a query')
  return url.href.replace(/\/$/, '')
}

/** Converts features to rows. Of several features with the same id, the last one counts. */
function toRows(layerId: number, features: readonly Feature[], idField: string | undefined): NewRow[] {
  const readIds = createIdReader(layerId, idField)
  const rows = features.map((feature): NewRow => ({ ...readIds(feature), value: toValue(feature) }))
  return [...new Map(rows.map((row) => [row.key, row])).values()]
}
