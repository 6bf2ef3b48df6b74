import { version } from '../../package.json'
import { describeCertificateError } from '../shared/certificate-errors.ts'
import { CONNECTION_ERRORS } from '../shared/connection-errors.ts'
import { inspectTls, openConnection, type Target } from './connection.ts'
import { Probe } from './probe.ts'
import { readOptions } from './read-options.ts'
import { ALL, type GroupedScenario } from './scenarios/all.ts'
import type { Sender } from './sender.ts'
import {
  type CheckOptions,
  type CheckReport,
  type CheckResult,
  type CheckVerdict,
  type Conclusion,
  type Finding,
  isRequired,
  skipped,
  undecided,
} from './types.ts'

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
  const settings = readOptions(options)
  const { target, sender } = settings
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
  const probe = new Probe(settings)
  try {
    const results = await runScenarios(probe, options)
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
  const idsOf = (verdict: CheckVerdict): string[] =>
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

/** Number of scenarios that run at the same time. */
const CONCURRENCY = 4

/** The scenario that must pass, because otherwise a refusal means nothing. */
const BASELINE = 'valid-json'

const NO_BASELINE = `not run: the receiver did not accept a valid delivery (${BASELINE}), so its other responses show nothing`

/** If this scenario fails, `waiting` scenarios run after the others, because they would block the receiver. */
const CONCURRENT = 'stalled-uploads'

/** Scenarios that mean something without a valid delivery. */
const isIndependent = ({ group, id }: GroupedScenario): boolean =>
  group === 'tls' || id === 'redirect' || id === BASELINE

/** Runs the baseline, then all others in their phases. Returns the results in the order of the report. */
async function runScenarios(probe: Probe, options: CheckOptions): Promise<CheckResult[]> {
  const results = new Map<string, CheckResult>()
  const hasPassed = (id: string): boolean => results.get(id)?.verdict === 'passed'

  async function find(scenario: GroupedScenario): Promise<Finding> {
    const why = whySkipped(scenario, options, probe.sender)
    if (why !== undefined) return skipped(why)
    if (!isIndependent(scenario) && !hasPassed(BASELINE)) return undecided(NO_BASELINE)
    try {
      return await scenario.run(probe)
    } catch (error) {
      return undecided(`the scenario could not run: ${(error as Error).message}`)
    }
  }

  async function run(scenario: GroupedScenario): Promise<void> {
    const started = performance.now()
    const { verdict, evidence } = await find(scenario)
    const { id, group, level, title, reason, fix } = scenario
    const duration = Math.round(performance.now() - started)
    const shown = probe.target.hide(evidence)
    const result = { id, group, level, title, reason, fix, verdict, evidence: shown, duration }
    results.set(id, result)
    options.onResult?.(result, { done: results.size, total: ALL.length })
  }

  const inTurn = async (scenarios: Iterable<GroupedScenario>): Promise<void> => {
    for (const scenario of scenarios) await run(scenario)
  }
  const runPhase = (wanted: GroupedScenario['phase'], concurrency = 1): Promise<unknown> => {
    const pending = ALL.filter(({ id, phase }) => id !== BASELINE && phase === wanted).values()
    return Promise.all(Array.from({ length: concurrency }, () => inTurn(pending)))
  }
  const runOthers = async (): Promise<void> => {
    await runPhase(undefined, CONCURRENCY)
    await runPhase('alone')
  }
  await inTurn(ALL.filter(({ id }) => id === BASELINE))
  await runPhase('first')
  if (hasPassed(CONCURRENT)) await Promise.all([runPhase('waiting'), runOthers()])
  else {
    await runOthers()
    await runPhase('waiting')
  }
  await runPhase('last')
  return ALL.flatMap(({ id }) => results.get(id) ?? [])
}

/** Returns why a scenario does not run, or undefined if it does. */
function whySkipped(
  { id, group, hasSideEffects, needsSignature }: GroupedScenario,
  { only, skip = [], sideEffects = false }: CheckOptions,
  { isSigned, profile }: Sender,
): string | undefined {
  const isIn = (names: readonly string[]): boolean => names.includes(id) || names.includes(group)
  if (id === BASELINE) return undefined
  if (isIn(skip) || (only && !isIn(only))) return 'not selected'
  if (hasSideEffects && !sideEffects) return 'has side effects: it runs with sideEffects (--side-effects)'
  if (needsSignature && !isSigned) return `senders with the profile ${profile} do not sign the body`
  return undefined
}
