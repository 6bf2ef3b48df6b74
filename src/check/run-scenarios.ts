import { undecided } from './judge.ts'
import type { Probe } from './probe.ts'
import type { GroupedScenario } from './scenarios/index.ts'
import type { CheckResult, Finding } from './types.ts'

/** Number of scenarios that run at the same time. */
const CONCURRENCY = 4

/** The scenario that must pass, because otherwise a refusal means nothing. */
export const BASELINE = 'valid-json'

const NO_BASELINE = `not run: the receiver did not accept a valid delivery (${BASELINE}), so its other responses show nothing`

/** If this scenario fails, `waiting` scenarios run after the others, because they would block the receiver. */
export const CONCURRENT = 'stalled-uploads'

/** Groups that mean something without a valid delivery. */
const isIndependent = ({ group, id }: GroupedScenario): boolean => group === 'tls' || id === 'redirect'

/**
 * Runs scenarios: first the baseline, then all others in their phases.
 *
 * @param whySkipped returns why a scenario does not run
 * @param onResult is called in the order in which scenarios end
 * @returns the results in the order of the scenarios
 */
export async function runScenarios(
  scenarios: readonly GroupedScenario[],
  probe: Probe,
  {
    whySkipped,
    onResult,
  }: { whySkipped(scenario: GroupedScenario): string | undefined; onResult(result: CheckResult): void },
): Promise<CheckResult[]> {
  const results = new Map<string, CheckResult>()

  async function run(scenario: GroupedScenario): Promise<void> {
    const why = scenario.id === BASELINE ? undefined : whySkipped(scenario)
    const isMeaningful =
      results.get(BASELINE)?.verdict === 'passed' || scenario.id === BASELINE || isIndependent(scenario)
    const started = performance.now()
    const finding = await (why !== undefined
      ? { verdict: 'skipped' as const, evidence: why }
      : isMeaningful
        ? find(scenario, probe)
        : undecided(NO_BASELINE))
    const result = toResult(scenario, finding, performance.now() - started, probe.target.hide)
    results.set(scenario.id, result)
    onResult(result)
  }

  const rest = scenarios.filter(({ id }) => id !== BASELINE)
  const inPhase = (phase: GroupedScenario['phase']): GroupedScenario[] =>
    rest.filter((scenario) => scenario.phase === phase)
  const inTurn = async (scenarios: Iterable<GroupedScenario>): Promise<void> => {
    for (const scenario of scenarios) await run(scenario)
  }
  const others = async (): Promise<void> => {
    const pending = inPhase(undefined).values()
    await Promise.all(Array.from({ length: CONCURRENCY }, () => inTurn(pending)))
    await inTurn(inPhase('alone'))
  }
  await inTurn(scenarios.filter(({ id }) => id === BASELINE))
  await inTurn(inPhase('first'))
  if (results.get(CONCURRENT)?.verdict === 'passed') {
    await Promise.all([inTurn(inPhase('waiting')), others()])
  } else {
    await others()
    await inTurn(inPhase('waiting'))
  }
  await inTurn(inPhase('last'))
  return scenarios.flatMap(({ id }) => results.get(id) ?? [])
}

async function find(scenario: GroupedScenario, probe: Probe): Promise<Finding> {
  try {
    return await scenario.run(probe)
  } catch (error) {
    return undecided(`the scenario could not run: ${(error as Error).message}`)
  }
}

const toResult = (
  { id, group, level, title, reason, fix }: GroupedScenario,
  { verdict, evidence }: Finding,
  duration: number,
  hide: (text: string) => string,
): CheckResult => ({
  id,
  group,
  level,
  title,
  reason,
  fix,
  verdict,
  evidence: hide(evidence),
  duration: Math.round(duration),
})
