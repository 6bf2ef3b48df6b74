import { version } from '../../package.json'
import { describeCertificateError } from '../adapters/certificate-errors.ts'
import { CONNECTION_ERRORS } from '../adapters/connection-errors.ts'
import { openConnection, type Target } from './http/connection.ts'
import { inspectTls } from './http/inspect-tls.ts'
import { isRequired } from './is-required.ts'
import type { CheckOptions } from './options.ts'
import { createProbe } from './probe.ts'
import { readOptions } from './read-options.ts'
import { runScenarios } from './run-scenarios.ts'
import { ALL } from './scenarios/index.ts'
import { whySkipped } from './select.ts'
import type { CheckReport, CheckResult, Conclusion, Verdict } from './types.ts'

/**
 * Checks whether a receiver of webhooks conforms: whether it accepts valid deliveries, refuses all others, and stays
 * available. The receiver can be written in any language. It gets valid deliveries, each of them once unless
 * `sideEffects` is true, and handles them: use a receiver for tests.
 *
 * @param options the URL and the key of the receiver, how its sender signs, and which scenarios to run
 * @returns the report. It contains no key of four or more characters. Receivers that are unreachable get a report too, not an error
 * @throws {WebhookError} `config_invalid` for an invalid or unknown option
 * @example
 * ```ts
 * import { checkReceiver } from 'geohook/check'
 *
 * const report = await checkReceiver({ url: 'http://127.0.0.1:3000/', signatureKey: 'parcels2026' })
 * console.log(report.summary)
 * for (const { id, evidence } of report.results.filter(({ verdict }) => verdict === 'failed')) console.log(id, evidence)
 * ```
 */
export async function checkReceiver(options: CheckOptions): Promise<CheckReport> {
  const { target, sender, headers, unknownPath } = readOptions(options)
  const started = performance.now()
  const head = {
    format: 1,
    url: target.url.origin + target.url.pathname,
    version,
    startedAt: new Date().toISOString(),
    profile: sender.profile,
    dialect: sender.dialect,
    strict: options.strict ?? false,
  } as const
  const toReport = (conclusion: Conclusion, summary: string, results: CheckResult[] = []): CheckReport => ({
    ...head,
    duration: Math.round(performance.now() - started),
    conclusion,
    summary,
    counts: countVerdicts(results),
    results,
  })

  const problem = await whyUnreachable(target)
  if (problem !== undefined) return toReport('unreachable', problem)
  const probe = createProbe(target, sender, {
    headers,
    observer: options.observer,
    failHandler: options.failHandler,
    unknownPath,
  })
  let done = 0
  try {
    const results = await runScenarios(ALL, probe, {
      whySkipped: (scenario) => whySkipped(scenario, options, sender),
      onResult(result) {
        done++
        options.onResult?.(result, { done, total: ALL.length })
      },
    })
    return toReport(...conclude(results, head.strict), results)
  } finally {
    probe.close()
  }
}

/** Returns why no connection is possible, or undefined. A certificate that is not trusted is a result of the check. */
async function whyUnreachable(target: Target): Promise<string | undefined> {
  try {
    if (target.url.protocol === 'https:') await inspectTls(target)
    else (await openConnection(target)).destroy()
    return undefined
  } catch (thrown) {
    const error = (thrown instanceof AggregateError ? thrown.errors[0] : thrown) as NodeJS.ErrnoException
    const { origin } = target.url
    const why = CONNECTION_ERRORS.get(error.code ?? '') ?? error.message
    return describeCertificateError(error, origin) ?? `cannot reach ${origin}: ${why}`
  }
}

function conclude(results: readonly CheckResult[], strict: boolean): [Conclusion, string] {
  const idsOf = (verdict: Verdict): string[] =>
    results
      .filter((result) => result.verdict === verdict && isRequired(result, { strict }))
      .map(({ id }) => id)
  const failed = idsOf('failed')
  const open = idsOf('undecided')
  if (failed.length > 0) return ['fails', `The receiver does not conform: ${failed.join(', ')}.`]
  if (open.length > 0) return ['undecided', `The run could not decide ${open.join(', ')}.`]
  const { passed, skipped } = countVerdicts(results)
  return [
    'conforms',
    `The receiver conforms: ${passed} of ${results.length} scenarios passed, ${skipped} were skipped.`,
  ]
}

function countVerdicts(results: readonly CheckResult[]): CheckReport['counts'] {
  const counts = { passed: 0, failed: 0, undecided: 0, skipped: 0 }
  for (const { verdict } of results) counts[verdict]++
  return counts
}
