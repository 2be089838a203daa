import { Checkbox, Stack, Text } from "@mantine/core"
import { PERMISSION_DESCRIPTIONS, permissionDenialReason } from "../api/permissions.ts"
import { useOperation } from "../api/operations.ts"
import { useMe } from "../api/session.ts"

/** All permissions that the server has. */
export function usePermissions(): readonly string[] {
  return useOperation("person-change")?.input.properties?.["permissions"]?.items?.enum ?? []
}

interface PermissionChoiceProps {
  readonly chosen: readonly string[]
  /** Current permissions; anyone who can edit can remove them. */
  readonly held: readonly string[]
  readonly rolePermissions: readonly string[]
  readonly onChoose: (chosen: readonly string[]) => void
}

/** A choice of permissions with descriptions; a disabled one says why the reader cannot give it. */
export function PermissionChoice({
  chosen,
  held,
  rolePermissions,
  onChoose,
}: PermissionChoiceProps) {
  const me = useMe()
  const all = usePermissions()
  return (
    <Stack gap="xs">
      {all.map((name) => {
        const denialReason = held.includes(name) ? null : permissionDenialReason(me, name)
        return (
          <Checkbox
            key={name}
            label={
              <>
                {name}
                {rolePermissions.includes(name) ? (
                  <Text span size="xs" c="dimmed">
                    {" "}
                    from the role
                  </Text>
                ) : null}
              </>
            }
            description={denialReason ?? PERMISSION_DESCRIPTIONS[name] ?? ""}
            disabled={denialReason !== null}
            checked={chosen.includes(name)}
            onChange={(event) =>
              onChoose(
                event.currentTarget.checked
                  ? [...chosen, name]
                  : chosen.filter((other) => other !== name),
              )
            }
          />
        )
      })}
    </Stack>
  )
}
