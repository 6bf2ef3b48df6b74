import { configInvalid } from '../errors.ts'
import { checkOptions, milliseconds, must, type OptionNames, wholeNumber } from '../options.ts'
import { type ChangeType, subscriptionsOf, type WebhookEvent, WILDCARD } from '../payload/events.ts'
import { createUnhandledWarning, warnIfMisspelt } from './change-type-warnings.ts'
import {
  ATTEMPT_PORT,
  type AttemptPort,
  ENTER,
  type EnterAttempt,
  type GroupContext,
  type HandlerFate,
} from './port.ts'
import type {
  AttemptContext,
  Delivery,
  HandleOptions,
  HandleResult,
  Handler,
  HandlerContext,
  HandlerOptions,
  JoinedDeliveries,
} from './types.ts'

type ForDelivery = (delivery: Delivery, context: HandlerContext) => unknown

/** One call of `on` or `onDelivery`. */
interface Registration {
  names: readonly string[]
  handler: Handler
  /** The name of its fate; empty without a name. */
  fate: string
  /** Its fate and names, with a number after the first registration of the same ones. */
  key: string
  /** True if the handler runs once for each delivery, whatever its events. */
  isForDelivery?: true
}

const isName = (name: unknown): boolean => typeof name === 'string' && name !== ''

const HANDLER_OPTIONS: OptionNames<HandlerOptions> = {
  name: must(
    'be letters, digits, _, -, . and :, at most 100',
    (name) => typeof name === 'string' && /^[\w.:-]{1,100}$/.test(name),
  ),
  attempts: wholeNumber(1, 1_000),
  timeout: milliseconds(),
  concurrency: wholeNumber(1, 1_000),
}

/** The handlers of a receiver, by change type. */
export class Dispatcher {
  readonly #all: Registration[] = []
  readonly #subscribed = new Set<string>()
  readonly #fates = new Map<string, HandlerFate>()
  readonly #hasInbox: boolean
  readonly #warnUnhandled = createUnhandledWarning()
  /**
   * Cached registrations, by subscribed change type or wildcard. Change types without a subscription are not
   * cached, so that senders cannot grow the map.
   */
  readonly #found = new Map<string, readonly Registration[]>()

  constructor(hasInbox: boolean) {
    this.#hasInbox = hasInbox
  }

  get size(): number {
    return this.#all.length
  }

  add(changeTypes: ChangeType | readonly ChangeType[], handler: Handler, options?: HandlerOptions): void {
    const names = typeof changeTypes === 'string' ? [changeTypes] : changeTypes
    // every() skips holes, includes() does not.
    const areNames =
      Array.isArray(names) && names.length > 0 && names.every(isName) && !names.includes(undefined)
    if (!areNames || typeof handler !== 'function') {
      throw configInvalid(
        'on(changeType, handler): changeType must be a string or a list of strings, handler a function',
      )
    }
    const fate = this.#readFate(options)
    this.#register({ names: [...names], handler, fate, key: this.#createKey(names, fate) })
  }

  addForDelivery(handler: ForDelivery, options?: HandlerOptions): void {
    if (typeof handler !== 'function') throw configInvalid('onDelivery(handler): handler must be a function')
    const fate = this.#readFate(options)
    const run: Handler = (_, delivery, context) => handler(delivery, context)
    const key = this.#createKey(['onDelivery()'], fate)
    this.#register({ names: [WILDCARD], handler: run, fate, key, isForDelivery: true })
  }

  #register(registration: Registration): void {
    this.#all.push(registration)
    for (const name of registration.names) {
      if (!this.#subscribed.has(name)) warnIfMisspelt(name)
      this.#subscribed.add(name)
      this.#fates.get(registration.fate)?.changeTypes.add(name)
    }
    this.#found.clear()
  }

  /** Adds the options to those of other handlers with the same name. Returns the name. */
  #readFate(given: HandlerOptions | undefined): string {
    const { name = '', ...options } = checkOptions(given, HANDLER_OPTIONS)
    const known = this.#fates.get(name)
    const fate: HandlerFate & Record<string, unknown> = { changeTypes: new Set(), ...known }
    for (const [option, value] of Object.entries(options)) {
      if (value === undefined) continue
      if (name === '') throw configInvalid(`${option} needs the option name`)
      if (!this.#hasInbox)
        throw configInvalid(`${option} needs an inbox`, 'Pass the inbox to createReceiver({ inbox }).')
      if ((fate[option] ?? value) !== value)
        throw configInvalid(`the handlers named ${name} have different values of ${option}`)
      fate[option] = value
    }
    this.#fates.set(name, fate)
    return name
  }

  /** The handlers with each name, and those without a name under the empty one. */
  get fates(): ReadonlyMap<string, HandlerFate> {
    return this.#fates
  }

  /** The change types with a handler, as passed to `on`. */
  changeTypes(): string[] {
    return [...this.#subscribed]
  }

  #createKey(names: readonly string[], fate: string): string {
    const joined = `${fate && `${fate}: `}${[...names].sort().join()}`
    for (let number = 1; ; number++) {
      const key = number === 1 ? joined : `${joined}#${number}`
      if (this.#all.every((registration) => registration.key !== key)) return key
    }
  }

  /**
   * Runs the handlers of every event, one after another, in the order of registration. Those for the whole delivery run
   * with those of its first event. If one fails, the others still run; when the signal is aborted, no further handler
   * starts. If all succeed, runs the functions that they passed to `onSuccess`. Warns about change types without a handler.
   *
   * Throws what the failed handler threw; an `AggregateError` if several failed; the abort reason if the signal is
   * aborted.
   */
  async dispatch(delivery: Delivery, context?: HandleOptions): Promise<HandleResult> {
    const errors: unknown[] = []
    const given = new HandledAttempt(context)
    let result: HandleResult = 'unhandled'
    try {
      const entering = given.enter(delivery.events)
      if (entering) await entering
      for (const event of delivery.events) {
        for (const registration of this.#registrationsOf(event.changeType)) {
          const { handler, fate, isForDelivery } = registration
          if (isForDelivery && event !== delivery.events[0]) continue
          if (context?.handler !== undefined && context.handler !== fate) continue
          result = 'handled'
          // After an abort, another attempt may already be running, so start no further handler.
          context?.signal?.throwIfAborted()
          given.begin(registration, this.#fates)
          try {
            await handler(event as never, delivery, given)
          } catch (error) {
            errors.push(error)
          }
        }
      }
      requireNone(errors)
      await given.succeed()
    } finally {
      given.end()
    }
    return result
  }

  /**
   * Like `dispatch`, for several deliveries in one attempt. The handlers run in the order of registration, and each
   * gets the joined events (see `joinEvents`) of all deliveries that it handles, or each delivery.
   *
   * @returns one result per delivery, in their order
   */
  async dispatchTogether(deliveries: readonly Delivery[], context?: GroupContext): Promise<HandleResult[]> {
    // Loaded on demand: most receivers handle one delivery at a time.
    const { joinEvents } = await import('./join-events.ts')
    const errors: unknown[] = []
    const given = new HandledAttempt(context)
    const sorted = [...deliveries].sort((a, b) => a.receivedAt.getTime() - b.receivedAt.getTime())
    const arrived = sorted.flatMap((delivery) =>
      delivery.events.map((event) => {
        const all = this.#registrationsOf(event.changeType)
        const registrations = all.filter(({ fate }) => (context?.handler ?? fate) === fate)
        return { event, delivery, registrations }
      }),
    )
    try {
      await given.enter(arrived.map(({ event }) => event))
      for (const registration of [...this.#all]) {
        const handled = arrived.filter(({ registrations }) => registrations.includes(registration))
        const own = new Set(handled.map(({ delivery }) => delivery))
        for (const { event, delivery, together } of registration.isForDelivery
          ? [...own].map((delivery) => ({ event: delivery.events[0], delivery, together: undefined }))
          : joinEvents(handled)) {
          context?.signal.throwIfAborted()
          given.begin(registration, this.#fates)
          const token = context?.tokens?.[deliveries.indexOf(delivery)]
          try {
            await registration.handler(event as never, delivery, given.forCall(together, token))
          } catch (error) {
            errors.push(error)
          }
        }
      }
      requireNone(errors)
      await given.succeed()
    } finally {
      given.end()
    }
    const handled = new Set(
      arrived.flatMap(({ delivery, registrations }) => (registrations.length > 0 ? delivery : [])),
    )
    return deliveries.map((delivery) => (handled.has(delivery) ? 'handled' : 'unhandled'))
  }

  /** Returns the registrations for a change type. Warns about a change type without registrations. */
  #registrationsOf(changeType: string): readonly Registration[] {
    const name = subscriptionsOf(changeType).find((one) => this.#subscribed.has(one)) ?? WILDCARD
    let registrations = this.#found.get(name)
    if (!registrations) {
      const subscriptions = subscriptionsOf(name)
      const isSubscribed = (subscription: string): boolean => subscriptions.includes(subscription)
      registrations = this.#all.filter(({ names }) => names.some(isSubscribed))
      this.#found.set(name, registrations)
    }
    if (registrations.length === 0) this.#warnUnhandled(changeType, this.#subscribed)
    return registrations
  }
}

/** @throws the error, or an `AggregateError` if there are several */
function requireNone(errors: readonly unknown[]): void {
  if (errors.length > 1) throw new AggregateError(errors, 'handlers failed')
  if (errors.length > 0) throw errors[0]
}

/**
 * The context of the handlers of one attempt. Members are created only when a handler reads them, because creating a
 * signal takes longer than the dispatch itself.
 */
class HandledAttempt implements HandlerContext, AttemptPort {
  readonly attempt: number
  readonly token: number | undefined
  readonly rerun: true | undefined
  #signal: AbortSignal | undefined
  #functions: (() => unknown)[] | undefined
  #last: (() => unknown)[] | undefined
  #ends: (() => void)[] | undefined
  #onSuccess: HandlerContext['onSuccess'] | undefined
  #handler: string | undefined
  isSeparate = false
  readonly #enter: EnterAttempt | undefined

  /** @param given default: the first attempt, which is never aborted */
  constructor(given: (Partial<AttemptContext> & { [ENTER]?: EnterAttempt }) | undefined) {
    this.attempt = given?.attempt ?? 1
    this.token = given?.token
    this.rerun = given?.rerun
    this.#signal = given?.signal
    this.#enter = given?.[ENTER]
  }

  get signal(): AbortSignal {
    this.#signal ??= new AbortController().signal
    return this.#signal
  }

  get onSuccess(): (run: () => unknown) => void {
    this.#onSuccess ??= Object.assign(
      (run: () => unknown): void => {
        this.#functions ??= []
        this.#functions.push(run)
      },
      { [ATTEMPT_PORT]: this },
    )
    return this.#onSuccess
  }

  get handler(): string | undefined {
    return this.#handler
  }

  afterSuccess(run: () => unknown): void {
    this.#last ??= []
    this.#last.push(run)
  }

  onEnd(run: () => void): void {
    // A handler that ignores its signal must not block others forever.
    if (!this.#ends) {
      const ends: (() => void)[] = []
      this.#ends = ends
      this.signal.addEventListener('abort', () => runEach(ends), { once: true })
    }
    this.#ends.push(run)
  }

  /** Waits for what must end before the handlers begin. */
  enter(events: readonly WebhookEvent[]): Promise<void> | undefined {
    return this.#enter?.(this, events, this.signal)
  }

  /** Called before each call of a handler. They run one after another. */
  begin({ key, names }: Registration, { size }: ReadonlyMap<string, HandlerFate>): void {
    this.#handler = key
    this.isSeparate = size > 1 && (names.includes(WILDCARD) || names.includes('FeaturesEdited'))
  }

  end(): void {
    this.#handler = undefined
    if (this.#ends) runEach(this.#ends)
  }

  /** Creates the context for one call of a handler, with the same signal and the same list of functions. */
  forCall(together: JoinedDeliveries | undefined, token: number | undefined): HandlerContext {
    const { attempt, rerun, onSuccess } = this
    const readSignal = () => this.signal
    return {
      attempt,
      token,
      rerun,
      onSuccess,
      together,
      get signal() {
        return readSignal()
      },
    }
  }

  /** Runs the functions. @throws what one of them threw; the abort reason if the signal is aborted */
  async succeed(): Promise<void> {
    if (this.#functions) await this.#runAll(this.#functions.reverse())
    if (this.#last) await this.#runAll(this.#last)
  }

  async #runAll(functions: readonly (() => unknown)[]): Promise<void> {
    for (const run of functions) {
      this.signal.throwIfAborted()
      await run()
    }
  }
}

/** Calls each function once, also if it is called again. */
function runEach(functions: (() => void)[]): void {
  for (const run of functions.splice(0)) run()
}
