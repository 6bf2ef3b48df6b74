import type { BatchObservableCallback, Meter, MeterProvider, Observable } from '@opentelemetry/api'
import {
  createInboxNotify,
  type InboxEvent,
  type InboxObserver,
  type OpenInbox,
} from '../inbox/inbox-observer.ts'
import { STATES } from '../inbox/stored-row.ts'
import { checkOptions, isFilledText, type OptionNames } from '../options.ts'
import type { InboxStats } from '../receiver/types.ts'
import { ignoreErrors } from './forward.ts'
import { latestOf, type MetricAttributes, SECONDS } from './metrics.ts'
import { METRICS } from './spans.ts'

/** Options of {@link createOtelInboxObserver}. */
export interface OtelInboxOptions {
  /**
   * Purpose of the deliveries. It is an attribute of every metric, so use only a few constant values, and a different
   * one for each inbox of a process. Default `'webhook'`.
   */
  destination?: string | undefined
  /** Default: the provider registered with the OpenTelemetry API, even if it is registered later. */
  meterProvider?: MeterProvider | undefined
  /** Another observer to call as well. Failures for which it has no function still become process warnings. */
  observer?: InboxObserver | undefined
}

const NAMES: OptionNames<OtelInboxOptions> = {
  destination: isFilledText,
  meterProvider: true,
  observer: true,
}

/**
 * Creates an observer for an inbox that records OpenTelemetry metrics: the durations of attempts by outcome and of
 * `put()` by result, the number of deliveries in each state, and the age of the oldest waiting delivery. The names are
 * listed in docs/observability.md.
 *
 * The last two are read from the inbox whenever metrics are collected, and are missing while it cannot be read. If one
 * observer is passed to several inboxes, their deliveries are added.
 *
 * Metrics contain nothing of a request.
 *
 * @throws {WebhookError} `config_invalid`
 * @example
 * ```ts
 * import { createReceiver } from 'geohook'
 * import { createOtelInboxObserver, createOtelObserver } from 'geohook/otel'
 * import { createSqliteInbox } from 'geohook/sqlite'
 *
 * const destination = 'parcels'
 * const inbox = createSqliteInbox({ path: 'inbox.db', observer: createOtelInboxObserver({ destination }) })
 * const observer = createOtelObserver({ destination })
 * const receiver = createReceiver({ signatureKey: 'parcels2026', inbox, observer })
 * inbox.work(receiver.on('*', (event) => console.log(event)))
 * ```
 */
export function createOtelInboxObserver(options: OtelInboxOptions = {}): InboxObserver {
  const { destination = 'webhook', meterProvider, observer } = checkOptions(options, NAMES)
  // Emits the warnings for functions that `observer` lacks: the inbox emits none, because it finds them all below.
  const notify = createInboxNotify(observer)
  const inboxes = new Set<OpenInbox>()
  const read = shareCalls(() => Promise.all([...inboxes].map((inbox) => inbox.stats())))
  const latest = latestOf<InboxInstruments>((meter, previous) => {
    previous?.unwatch()
    const created = createInboxInstruments(meter, destination, read)
    if (inboxes.size > 0) created.watch()
    return created
  }, meterProvider)

  const record =
    <Name extends Attempt>(outcome: Name) =>
    (event: InboxEvent<Name>): void => {
      ignoreErrors(() => latest().attempt(outcome, event.milliseconds / 1000))
      notify(outcome, event)
    }
  return {
    opened(inbox) {
      inboxes.add(inbox)
      ignoreErrors(() => latest().watch())
      notify('opened', inbox)
    },
    closed(inbox) {
      inboxes.delete(inbox)
      if (inboxes.size === 0) ignoreErrors(() => latest().unwatch())
      notify('closed', inbox)
    },
    put(event) {
      ignoreErrors(() => latest().put(event.result, event.milliseconds / 1000))
      notify('put', event)
    },
    handled: record('handled'),
    unhandled: record('unhandled'),
    failed: record('failed'),
    dead: record('dead'),
    trouble: (event) => notify('trouble', event),
  }
}

type Attempt = 'handled' | 'unhandled' | 'failed' | 'dead'

interface InboxInstruments {
  attempt(outcome: Attempt, seconds: number): void
  put(result: InboxEvent<'put'>['result'], seconds: number): void
  /** Reads the inboxes whenever metrics are collected, until `unwatch` is called. */
  watch(): void
  unwatch(): void
}

function createInboxInstruments(
  meter: Meter,
  destination: string,
  read: () => Promise<InboxStats[]>,
): InboxInstruments {
  const where: MetricAttributes = { 'messaging.destination.name': destination }
  const attempts = ignoreErrors(() =>
    meter.createHistogram('geohook.inbox.attempt.duration', {
      description: 'Duration of the attempts to handle a delivery of the inbox.',
      unit: METRICS['geohook.inbox.attempt.duration'],
      // An attempt may take 60 seconds by default.
      advice: { explicitBucketBoundaries: [...SECONDS, 30, 60] },
    }),
  )
  const puts = ignoreErrors(() =>
    meter.createHistogram('geohook.inbox.put.duration', {
      description: 'Duration of storing a delivery in the inbox.',
      unit: METRICS['geohook.inbox.put.duration'],
      advice: { explicitBucketBoundaries: SECONDS },
    }),
  )
  const deliveries = ignoreErrors(() =>
    meter.createObservableGauge('geohook.inbox.deliveries', {
      description: 'Deliveries in the inbox.',
      unit: METRICS['geohook.inbox.deliveries'],
    }),
  )
  const age = ignoreErrors(() =>
    meter.createObservableGauge('geohook.inbox.oldest.age', {
      description: 'Time since the oldest waiting delivery was received; 0 if none is waiting.',
      unit: METRICS['geohook.inbox.oldest.age'],
    }),
  )
  const gauges = [deliveries, age].filter((gauge) => gauge !== undefined)
  const observe: BatchObservableCallback = async (result) => {
    const all = await read().catch(() => [])
    if (all.length === 0) return
    const set = (gauge: Observable | undefined, value: number, attributes: MetricAttributes) =>
      gauge && ignoreErrors(() => result.observe(gauge, value, attributes))
    for (const state of STATES) {
      const number = all.reduce((sum, stats) => sum + stats[state], 0)
      set(deliveries, number, { ...where, 'geohook.inbox.state': state })
    }
    const oldest = Math.min(...all.map((stats) => stats.oldest?.getTime() ?? Number.POSITIVE_INFINITY))
    set(age, Math.max(0, (Date.now() - oldest) / 1000), where)
  }
  const outcome = (kind: string): MetricAttributes => ({ ...where, 'geohook.outcome': kind })
  return {
    attempt: (kind, seconds) => ignoreErrors(() => attempts?.record(seconds, outcome(kind))),
    put: (result, seconds) => ignoreErrors(() => puts?.record(seconds, outcome(result))),
    watch: () => ignoreErrors(() => meter.addBatchObservableCallback(observe, gauges)),
    unwatch: () => ignoreErrors(() => meter.removeBatchObservableCallback(observe, gauges)),
  }
}

/** Lets calls during a call share its result, so that several readers of metrics cause one query. */
function shareCalls<Result>(call: () => Promise<Result>): () => Promise<Result> {
  let running: Promise<Result> | undefined
  return () =>
    (running ??= call().finally(() => {
      running = undefined
    }))
}
