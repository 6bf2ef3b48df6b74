import type { ChangesError } from '../../changes/index.ts'
import { CliError, EXIT, toCliError } from '../errors.ts'

/** Hints in place of those that name options of `createChanges`. */
const HINTS: ReadonlyMap<string, string> = new Map([
  ['changes_timeout', 'Try again later, or give a longer --timeout.'],
  ['changes_too_large', 'Give a later generation with --after, so that there are fewer changes.'],
  ['resync_required', 'Give --after with a generation that the service still has, or query all features.'],
])

/**
 * Converts an error of an extraction.
 *
 * @param failure the last request, if it got no response
 * @param hasToken whether a token was given
 */
export function toChangesError(
  error: unknown,
  { failure, hasToken }: { failure: CliError | undefined; hasToken: boolean },
): CliError {
  const { code, message, hint = '', serviceCode } = error as Partial<ChangesError>
  if (code === 'changes_unavailable' && serviceCode === undefined && failure) return failure
  if (code === undefined || message === undefined || !code.match(/^(?:changes_|resync_)/))
    return toCliError(error)
  const exitCode = code === 'changes_timeout' ? EXIT.unreachable : EXIT.failure
  return new CliError(exitCode, code, message, toHint(code, hint, hasToken))
}

function toHint(code: string, hint: string, hasToken: boolean): string {
  if (code === 'changes_token_rejected' && !hasToken)
    return 'The service requires a token: give it with --token-file or --token-env.'
  if (code === 'changes_url_refused')
    return hint.replace(/add '([^']*)' to origins/, (_, origin: string) => `add --origin ${origin}`)
  return HINTS.get(code) ?? hint
}
