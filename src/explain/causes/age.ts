/** Causes in the age of a delivery. */
export const AGE_CAUSES = {
  delivery_untimed: {
    symptom: 'No event has a time, or the time is not valid.',
    proof: 'The payload has no event time in milliseconds or ISO 8601.',
    fix: "Send the time of each event as when, in milliseconds since 1970, or set the option untimed to 'accept'.",
  },
  delivery_time_unit: {
    symptom: 'The event time is in another unit than milliseconds.',
    proof: 'The time of the newest event is within maxAge if it is read in that unit.',
    fix: 'Send event times in milliseconds since 1970.',
    fixIn: {
      Python: 'Send int(time.time() * 1000).',
      PHP: 'Send (int) (microtime(true) * 1000).',
      Go: 'Send time.Now().UnixMilli().',
      Ruby: 'Send (Time.now.to_f * 1000).to_i.',
    },
  },
  delivery_clock: {
    symptom: 'The clock of the sender or of the receiver is wrong.',
    proof:
      'The header date of the request is near the event time, and is ahead of the clock of the receiver by more than maxAge.',
    fix: 'Synchronize both clocks, for example with NTP.',
  },
  delivery_in_future: {
    symptom: 'The newest event is in the future.',
    proof: 'The time of the newest event is later than the clock of the receiver, by more than maxAge.',
    fix: 'Check the clocks of both sides, and that the sender writes times in UTC.',
  },
  delivery_too_old: {
    symptom: 'The newest event is too old.',
    proof: 'The time of the newest event is earlier than the clock of the receiver, by more than maxAge.',
    fix: 'Set maxAge longer than the schedule and all retries of the sender take together. If no retries are expected, check the clocks; the delivery may also be a replay.',
  },
} as const
