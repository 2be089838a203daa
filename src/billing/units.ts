/** What one of an item is. */

/** Anybody may name an item, so names that every object has are none of these. */
const UNITS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    box_minute_small: "minute",
    box_minute_medium: "minute",
    box_minute_large: "minute",
    box_minute_xlarge: "minute",
    text_segment: "segment",
    call_minute: "minute",
    recording_minute_day: "minute",
    number_month_local: "month",
    number_month_toll_free: "month",
    email_recipient: "recipient",
    api_call: "call",
  }),
)

/** The unit of an item; empty for one that is bought as a whole. */
export function unitOf(item: string): string {
  return UNITS.get(item) ?? ""
}
