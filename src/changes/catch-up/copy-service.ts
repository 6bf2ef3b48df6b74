import type { ChangesInbox } from '../options.ts'
import { highestOf, type LayerTracking, toGenerations } from './tracking.ts'

/** Reason for copying a service: see {@link CatchUpOptions.resync}. `requested` if `changes.resync` was called. */
export type ResyncReason = 'first_start' | 'purged' | 'reset' | 'requested'

/** Second argument of a {@link CopyService} function. */
export interface ResyncContext {
  reason: ResyncReason
  /** Aborted when `catchUp` is closed, or by the signal passed to `changes.resync`. */
  signal: AbortSignal
}

/**
 * Copies all features of a service, and removes features that the service no longer has.
 *
 * @param service URL of the feature service
 */
export type CopyService = (service: string, context: ResyncContext) => unknown

/** Dependencies of catching up. */
export interface CatchUpParts {
  inbox: ChangesInbox
  /** Requests the current generations of the layers of a service, at least one. @throws {WebhookError} */
  track(service: string, signal: AbortSignal): Promise<readonly LayerTracking[]>
}

/** Copies a service, and stores the generations from before the copy, so that edits during the copy are handled too. */
export async function copyService(
  { inbox: { generations }, track }: CatchUpParts,
  service: string,
  context: ResyncContext,
  copy: CopyService | undefined,
): Promise<void> {
  const current = await track(service, context.signal)
  await copy?.(service, context)
  context.signal.throwIfAborted()
  // The highest generation comes last: if it is not stored, the next poll finds that the service must be copied.
  await generations.replace(service, toGenerations(current))
  const copies = (await generations.get(seenKey(service))).get(COPIES) ?? 0
  const marks = new Map([[HIGHEST, highestOf(current)]])
  await generations.replace(seenKey(service), copy ? marks.set(COPIES, copies + 1) : marks)
}

/**
 * Returns the name under which two marks of a service are stored in the generations, {@link HIGHEST} and
 * {@link COPIES}, as if they were layers.
 */
export const seenKey = (service: string): string => `${service}#seen`

/** The highest generation that the service has ever reported. */
export const HIGHEST = 0

/** The number of copies. Missing before the first copy. */
export const COPIES = 1
