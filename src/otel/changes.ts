import {
  type Context,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  type TracerProvider,
  trace,
} from '@opentelemetry/api'
import { requireChangesObserver } from '../changes/options.ts'
import type { ChangesObserver, Step, StepResult } from '../changes/types.ts'
import { WebhookError } from '../errors.ts'
import { checkOptions, type OptionNames } from '../options.ts'
import { forwardAround, ignoreErrors } from './forward.ts'
import {
  type Attributes,
  type CHANGES_ATTRIBUTES,
  describeThrown,
  inSpan,
  SCOPE,
  sanitizeName,
} from './spans.ts'

type SpanAttributes = Attributes<typeof CHANGES_ATTRIBUTES, string | number>

/** Options of {@link createOtelChangesObserver}. */
export interface OtelChangesOptions {
  /** Default: the provider registered with the OpenTelemetry API, even if it is registered later. */
  tracerProvider?: TracerProvider | undefined
  /** Another observer to call as well. */
  observer?: ChangesObserver | undefined
}

const NAMES: OptionNames<OtelChangesOptions> = { tracerProvider: true, observer: true }

/**
 * Creates an observer for `createChanges` that records an OpenTelemetry span for each step of an extraction: the
 * request for the changes, each poll of a job, its file, and the generations of a service. A span is active while its
 * requests are sent. The names are listed in docs/observability.md.
 *
 * Spans contain the host of the service, and no paths, queries, tokens, features or error messages.
 *
 * @throws {WebhookError} `config_invalid`
 * @example
 * ```ts
 * import { createChanges } from 'geohook/changes'
 * import { createOtelChangesObserver } from 'geohook/otel'
 *
 * const observer = createOtelChangesObserver()
 * const changes = createChanges({ token: 'secret', origins: ['https://gis.example.com'], observer })
 * ```
 */
export function createOtelChangesObserver(options: OtelChangesOptions = {}): ChangesObserver {
  const { observer = {} } = checkOptions(options, NAMES)
  requireChangesObserver(observer)
  const tracer = (options.tracerProvider ?? trace).getTracer(SCOPE)
  return {
    around(step) {
      const start = (parent: Context) => startSpan(tracer, step, parent)
      return inSpan(start, async (span) => {
        forwardAround(observer, step)
        const result = await step.run()
        if (span) endSpan(span, result)
      })
    },
  }
}

function startSpan(tracer: Tracer, { step, service }: Step, parent: Context): Span | undefined {
  return ignoreErrors(() => {
    const { hostname, port, protocol } = new URL(service)
    const attributes: SpanAttributes = {
      'geohook.changes.step': step,
      'server.address': hostname,
      'server.port': Number(port) || (protocol === 'https:' ? 443 : 80),
    }
    return tracer.startSpan(`changes ${step}`, { kind: SpanKind.INTERNAL, attributes }, parent)
  })
}

function endSpan(span: Span, result: StepResult): void {
  ignoreErrors(() => span.setAttributes(attributesOf(result)))
  if ('error' in result) ignoreErrors(() => span.setStatus({ code: SpanStatusCode.ERROR }))
  ignoreErrors(() => span.end())
}

function attributesOf({ requests, state, ...result }: StepResult): SpanAttributes {
  const serviceCode = (result.error as { serviceCode?: unknown } | undefined)?.serviceCode
  return {
    'geohook.changes.requests': requests,
    ...(state !== undefined && { 'geohook.changes.job_state': sanitizeName(state) }),
    ...('error' in result && { 'error.type': errorTypeOf(result.error) }),
    ...(typeof serviceCode === 'number' && { 'geohook.changes.service_code': serviceCode }),
  }
}

/** Only a WebhookError has a code that cannot quote a response. */
const errorTypeOf = (error: unknown): string =>
  error instanceof WebhookError ? error.code : describeThrown(error).type
