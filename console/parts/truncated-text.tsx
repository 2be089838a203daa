import { Text } from "@mantine/core"

/** A text in one line, complete on hover. */
export function TruncatedText({
  text,
  width = 360,
}: {
  readonly text: string
  readonly width?: number
}) {
  return (
    <Text inherit truncate maw={width} title={text}>
      {text}
    </Text>
  )
}
