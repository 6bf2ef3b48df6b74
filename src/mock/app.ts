import type { RequestListener } from 'node:http'
import express from 'express'
import { configInvalid } from '../errors.ts'
import { administration } from './admin/routes.ts'
import { control } from './control/routes.ts'
import type { Attempt } from './delivery/attempt-log.ts'
import type { Faults } from './delivery/faults.ts'
import type { DeliverySettings } from './delivery-settings.ts'
import { createListener } from './http/server.ts'
import type { Notice } from './listeners.ts'
import type { MockServiceOptions } from './options.ts'
import { createCore } from './service.ts'
import type { MockEvent } from './state/events.ts'
import { type Snapshot, type SnapshotSeed, toSnapshot } from './state/snapshot.ts'
import { warn } from './warn.ts'

/** A service for tests: it keeps webhooks, answers the administration, and really sends deliveries. */
export interface MockService {
  /** Everything that it answers over HTTP, to be mounted elsewhere. */
  readonly app: RequestListener
  /** The base address while it listens; empty before and after. */
  readonly url: string
  /** Every attempt so far (the last thousand), oldest first: a list of its own each time that it is asked for. */
  readonly deliveries: readonly Attempt[]
  /** What is to go wrong with deliveries to come. */
  readonly faults: Faults
  /** How deliveries are tried now. */
  readonly settings: Readonly<DeliverySettings>
  /**
   * Listens on 127.0.0.1, once.
   *
   * @param port 0 to 65535; default 0, any free port
   * @returns the base address
   * @throws {WebhookError} `config_invalid` where it was called before; Node's error where the port is taken
   */
  listen(port?: number): Promise<string>
  /**
   * Lets something happen: every active webhook that selects it gets a delivery, at once or when its window closes.
   * Events that are given together come in one delivery.
   *
   * @returns all attempts of these deliveries, when no more are to come; whatever a receiver does, it is recorded in them
   * @throws {WebhookError} `config_invalid` where there is no such service, or the event cannot happen on it
   */
  trigger(events: MockEvent | readonly MockEvent[]): Promise<Attempt[]>
  /**
   * Sends a recorded attempt once more, byte for byte.
   *
   * @throws {WebhookError} `config_invalid` where there is no such attempt
   */
  redeliver(attemptId: string): Promise<Attempt>
  /**
   * Calls the listener for every attempt that has ended, and every change of a webhook.
   *
   * @returns the function that ends it
   */
  on(listener: (notice: Notice) => void): () => void
  /** Copies of all services and webhooks, with their keys, the settings, and the failures that count. */
  snapshot(): Snapshot
  /**
   * Puts a snapshot, or a part of one, in place of all services, webhooks, settings and failures. Records, faults and
   * gathered events stay; events of webhooks that are gone are not sent.
   *
   * @throws {WebhookError} `config_invalid`; then nothing has changed
   */
  restore(snapshot: SnapshotSeed): void
  /** Back to the beginning: the seeds, no record, no faults, no gathered events. */
  reset(): void
  /**
   * Stops listening at once, sends what was gathered, and waits for what is on the wire; nothing is tried again, and
   * later deliveries fail.
   */
  close(): Promise<void>
}

/**
 * Makes a mock of the specification's service.
 *
 * @throws {WebhookError} `config_invalid` for an option that cannot be right, two webhooks with one id, or with one
 *   name in one service, or a key with white space around it
 * @example
 * ```ts
 * import { createMockService } from 'geohook/mock'
 *
 * const service = createMockService({
 *   webhooks: [{
 *     serviceName: 'Parcels', serviceType: 'FeatureServer', name: 'edits',
 *     hookUrl: 'http://127.0.0.1:3000/hooks/parcels', signatureKey: 'parcels2026',
 *   }],
 * })
 * await service.listen(4000)
 * const [attempt] = await service.trigger({ serviceName: 'Parcels', changeType: 'FeaturesCreated' })
 * console.log(attempt?.answer?.status ?? attempt?.error)
 * await service.close()
 * ```
 */
export function createMockService(options: MockServiceOptions = {}): MockService {
  const core = createCore(options)
  const { engine, notices, state } = core
  const app = express().disable('x-powered-by').enable('case sensitive routing')
  if (core.options.control) app.use('/_mock', control(core))
  app.use(administration(core))
  const listener = createListener(app)

  return {
    app,
    get url() {
      return listener.url
    },
    get deliveries() {
      return engine.log.list()
    },
    faults: engine.faults,
    get settings() {
      return state.settings
    },
    listen: listener.listen,
    trigger(events) {
      try {
        return core.notify(core.select(events))
      } catch (error) {
        return Promise.reject(error)
      }
    },
    async redeliver(attemptId) {
      const attempt = engine.log.get(attemptId)
      if (!attempt) throw configInvalid(`there is no attempt ${attemptId}`)
      return engine.redeliver(attempt)
    },
    on: notices.on,
    snapshot: () => toSnapshot(state),
    restore(snapshot) {
      core.restore(snapshot)
      core.save().catch(warn)
    },
    reset() {
      core.reset()
      core.save().catch(warn)
    },
    async close() {
      await listener.close(engine.close)
      // What was changed last.
      await core.save().catch(warn)
    },
  }
}
