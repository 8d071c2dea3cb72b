package compare

import (
	"fmt"
	"slices"
)

// stated is a list type or map type, or what stands for none.
func stated(s *string, otherwise string) string {
	if s == nil {
		return otherwise
	}
	return *s
}

func pointed(s *string) any {
	if s == nil {
		return nil
	}
	return *s
}

// lists compares how lists and objects are merged, and what has to differ in lists. Whoever owns what of a stored object is stated in its
// managedFields, in terms of the old kind of list: no such change is without consequence for server-side apply.
func (w *walk) lists(old, new *Props, at place) {
	keyword := at.at("x-kubernetes-list-type")
	was, is := stated(old.XListType, "atomic"), stated(new.XListType, "atomic")
	f := found{kind: ListTypeChanged, at: keyword, old: pointed(old.XListType), new: pointed(new.XListType)}
	switch {
	case was == is && f.old == f.new:
	case was == is:
		f.message = "lists are atomic unless they say otherwise: nothing changes"
		w.tell(f)
	case is == "atomic":
		f.impact = everybody(Care)
		f.message = fmt.Sprintf("elements may be equal, and whoever applies the list owns all of it; as a %s it was merged", was)
		w.tell(f)
	default:
		f.impact = Impact{Stored: Care, Writers: Breaking}
		what := "elements"
		if is == "map" {
			what = "elements of equal keys"
		}
		f.message = what + " that are twice in a list are refused, except in objects that have such already; appliers own and merge elements one by one"
		w.tell(f)
	}
	if was == "map" && is == "map" && !slices.Equal(old.XListMapKeys, new.XListMapKeys) {
		w.keys(old, new, at)
	}
	keyword = at.at("x-kubernetes-map-type")
	was, is = stated(old.XMapType, "granular"), stated(new.XMapType, "granular")
	f = found{kind: MapTypeChanged, at: keyword, old: pointed(old.XMapType), new: pointed(new.XMapType)}
	switch {
	case was == is && f.old == f.new:
		return
	case was == is:
		f.message = "objects are granular unless they say otherwise: nothing changes"
	case is == "atomic":
		f.impact, f.message = Impact{Stored: Care, Writers: Care}, "whoever applies the object owns all of it; it was merged field by field"
	default:
		f.impact, f.message = Impact{Stored: Care, Writers: Care}, "appliers own and merge fields one by one; the object was owned as a whole"
	}
	w.tell(f)
}

// keys compares by what the elements of a list are told apart.
func (w *walk) keys(old, new *Props, at place) {
	f := found{kind: ListMapKeysChanged, at: at.at("x-kubernetes-list-map-keys"), old: old.XListMapKeys, new: new.XListMapKeys,
		impact: Impact{Stored: Care, Writers: Breaking}, message: "elements are told apart by other keys: those that agree in them are refused, except in objects that have such already"}
	missing := slices.ContainsFunc(old.XListMapKeys, func(k string) bool { return !slices.Contains(new.XListMapKeys, k) })
	if !missing {
		f.impact, f.message = everybody(Care), "elements are told apart by more keys: appliers and their stored ownership name them by fewer"
		if len(old.XListMapKeys) == len(new.XListMapKeys) {
			f.impact, f.message = Impact{Stored: Care}, "the same keys in another order"
		}
	}
	w.tell(f)
}
