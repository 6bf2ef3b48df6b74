import type { AttemptEnded, InboxObserver } from 'geohook/inbox'

/** An observer that records how attempts end, and all troubles. */
export function recordEnds() {
  /** The ends of each delivery's attempts, for example `failed 1 no service`. */
  const ends = new Map<string, string[]>()
  const troubles: string[] = []
  const note =
    (name: string) =>
    ({ delivery: { id }, attempt, error }: AttemptEnded & { error?: unknown }) => {
      const text = [name, attempt, ...(error instanceof Error ? [error.message] : [])].join(' ')
      ends.set(id, [...(ends.get(id) ?? []), text])
    }
  const observer: InboxObserver = {
    handled: note('handled'),
    failed: note('failed'),
    dead: note('dead'),
    trouble: ({ error }) => troubles.push(String(error)),
  }
  return { ends, troubles, observer }
}
