import { FEATURE_CHANGE_TYPES } from '../../payload/change-types.ts'
import { toBinary } from '../../signature/bytes.ts'
import { perObject } from '../memoize.ts'
import type { Happening } from '../state/events.ts'
import type { Webhook } from '../state/webhook.ts'

/** Writes the body that carries an event to a webhook, in memory of its own. */
export type EventWriter = (webhook: Readonly<Webhook>, event: Happening) => Uint8Array<ArrayBuffer>

/** What the numbers in a frame have: milliseconds since 1970 have so many from 2001 to 2286. */
const DIGITS = 13
const LEAST = 10 ** (DIGITS - 1)
const TOO_MUCH = 10 ** DIGITS
/** They stand in a frame where the generations and the time of an event go. */
const GENERATION = 1_111_111_111_111
const WHEN = 2_222_222_222_222
const PLACEHOLDERS = [GENERATION, GENERATION + 1, WHEN] as const

/** A body, and where in it these three numbers begin. */
interface Frame {
  readonly body: Uint8Array<ArrayBuffer>
  readonly places: readonly [number, number, number]
}

/**
 * Writes what `write` writes, of events of feature services in the service dialect: from one event of a change type to the
 * next nothing but three numbers differs, so all else is written once for each webhook.
 */
export function inFrames(write: EventWriter): EventWriter {
  const framesOf = perObject((_webhook: Readonly<Webhook>) => new Map<string, Frame | null>())

  /** Null where one of the placeholders is missing, or stands somewhere else as well, such as in a name. */
  function frameOf(webhook: Readonly<Webhook>, event: Happening): Frame | null {
    const frames = framesOf(webhook)
    const known = frames.get(event.changeType)
    if (known !== undefined) return known
    const frame = toFrame(write(webhook, { ...event, generation: GENERATION, layerIds: [0], when: WHEN }))
    frames.set(event.changeType, frame)
    return frame
  }

  return (webhook, event) => {
    const { changeType, generation, layerIds, when } = event
    const after = generation + layerIds.length
    // Names of one's own are too many to be kept.
    if (!NAMES.includes(changeType) || !fits(generation) || !fits(after) || !fits(when))
      return write(webhook, event)
    const frame = frameOf(webhook, event)
    if (!frame) return write(webhook, event)
    const body = frame.body.slice()
    const [first, second, third] = frame.places
    writeNumber(body, first, generation)
    writeNumber(body, second, after)
    writeNumber(body, third, when)
    return body
  }
}

const NAMES: readonly string[] = FEATURE_CHANGE_TYPES

/** A clock of one's own may say anything. */
const fits = (number: number): boolean => Number.isInteger(number) && number >= LEAST && number < TOO_MUCH

function toFrame(body: Uint8Array<ArrayBuffer>): Frame | null {
  const text = toBinary(body)
  const placeOf = (placeholder: number): number => {
    const place = text.indexOf(String(placeholder))
    return place === text.lastIndexOf(String(placeholder)) ? place : -1
  }
  const [first, second, third] = PLACEHOLDERS
  const places = [placeOf(first), placeOf(second), placeOf(third)] as const
  return places.includes(-1) ? null : { body, places }
}

function writeNumber(body: Uint8Array, start: number, number: number): void {
  let left = number
  for (let index = start + DIGITS - 1; index >= start; index--) {
    const tenth = Math.floor(left / 10)
    body[index] = 0x30 + left - tenth * 10
    left = tenth
  }
}
