import type { Observer } from '../receiver/observer.ts'
import { guard } from './guard.ts'

type Told = Omit<Required<Observer>, 'around'>

const NAMES: Record<keyof Told, true> = {
  accepted: true,
  refused: true,
  duplicate: true,
  handled: true,
  failed: true,
  handshake: true,
}

/**
 * The functions of an observer, as functions of another one. Only those that it has: for the others the receiver's
 * log speaks, as it does without an observer.
 */
export function forwardTo(observer: Observer): Observer {
  const names = (Object.keys(NAMES) as (keyof Told)[]).filter((name) => has(observer, name))
  return Object.fromEntries(
    // Called on the observer, which may be an instance of a class.
    names.map((name) => [name, (seen: never) => observer[name]?.(seen)]),
  )
}

function has(observer: Observer, name: keyof Observer): boolean {
  try {
    return typeof observer[name] === 'function'
  } catch {
    return true // a getter that fails has heard it, as everywhere
  }
}

/** Lets an observer run around the work. Whatever it does, the receiver begins the work once. */
export function letAround(observer: Observer, seen: Around): void {
  guard(() => void Promise.resolve(observer.around?.(seen)).catch(() => {}))
}

type Around = Parameters<Required<Observer>['around']>[0]
