import { FEATURE_CHANGE_TYPES } from '../../payload/change-types.ts'
import type { Happening } from '../events.ts'
import { perObject } from '../per-object.ts'
import type { Webhook } from '../webhook.ts'

/** Writes the text that carries an event to a webhook. */
export type EventWriter = (webhook: Readonly<Webhook>, event: Happening) => string

/** They stand in a frame where the generations and the time of an event go. */
const GENERATION = 111_111_111_111_111
const WHEN = 222_222_222_222_222
const PLACES = new RegExp([GENERATION, GENERATION + 1, WHEN].join('|'))

/** The texts before, between and behind these three numbers. */
type Frame = readonly [string, string, string, string]

const isFrame = (texts: readonly string[]): texts is Frame => texts.length === 4

/**
 * Writes what `write` writes, of events of feature services in the service dialect: from one event of a change type to the
 * next nothing but three numbers differs, so all else is written once for each webhook.
 */
export function inFrames(write: EventWriter): EventWriter {
  const framesOf = perObject((_webhook: Readonly<Webhook>) => new Map<string, readonly string[]>())

  function frameOf(webhook: Readonly<Webhook>, event: Happening): readonly string[] {
    const frames = framesOf(webhook)
    const known = frames.get(event.changeType)
    if (known) return known
    const frame = write(webhook, { ...event, generation: GENERATION, layerIds: [0], when: WHEN }).split(
      PLACES,
    )
    frames.set(event.changeType, frame)
    return frame
  }

  return (webhook, event) => {
    const { changeType, generation, layerIds, when } = event
    // Others are too many to be kept.
    if (!NAMES.includes(changeType) || !areWritable(generation, when)) return write(webhook, event)
    const frame = frameOf(webhook, event)
    // One of the numbers is in a name as well.
    if (!isFrame(frame)) return write(webhook, event)
    const [start, between, middle, end] = frame
    return start + generation + between + (generation + layerIds.length) + middle + when + end
  }
}

const NAMES: readonly string[] = FEATURE_CHANGE_TYPES

/** Whether they are what a payload can hold: a clock of one's own may say anything. */
const areWritable = (generation: number, when: number): boolean =>
  Number.isSafeInteger(when) && Number.isSafeInteger(generation) && generation >= 0
