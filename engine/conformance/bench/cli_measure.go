package bench

import "fmt"

// measured is the median of the runs of a tool on a folder.
type measured struct {
	wall, cpu, peak float64 // seconds and bytes
	objects         int
}

func (m measured) String() string { return fmt.Sprintf("%s %.0f MB", m.times(), m.peak/1e6) }

func (m measured) times() string {
	return fmt.Sprintf("%s ms wall %s ms CPU", milliseconds(m.wall), milliseconds(m.cpu))
}

// each returns the times of one object.
func (m measured) each() measured {
	n := float64(m.objects)
	return measured{wall: m.wall / n, cpu: m.cpu / n, objects: 1}
}

// marginal returns the times of one object, from the difference between a run and a run with fewer objects.
func (m measured) marginal(fewer measured) measured {
	return measured{wall: m.wall - fewer.wall, cpu: m.cpu - fewer.cpu, objects: m.objects - fewer.objects}.each()
}

// ratios returns how many times faster ours is. If bar is not 0, the text also says whether the bar is met.
func ratios(ours, theirs measured, bar float64) string {
	print := func(what string, ratio float64) string {
		text := what + " " + times(ratio)
		if bar > 0 {
			text += fmt.Sprintf(" (bar %.0fx %s)", bar, met(ratio >= bar))
		}
		return text
	}
	return "ratio " + print("wall", theirs.wall/ours.wall) + " " + print("CPU", theirs.cpu/ours.cpu)
}

// met returns the word for a bar that is met or missed.
func met(ok bool) string {
	if ok {
		return "met"
	}
	return "MISSED"
}

// compare runs each tool on its folders, in turns, and returns the medians by tool and folder. First, each tool must find
// the invalid object.
func (w *workplace) compare(o Options, folders map[string][]string) (map[string]measured, error) {
	for _, t := range w.tools {
		if len(folders[t.name]) > 0 {
			if _, err := w.run(t, "faulty", 0, 1); err != nil {
				return nil, err
			}
		}
	}
	type series struct {
		wall, cpu, peak []float64
		objects         int
	}
	all := map[string]*series{}
	for round := range o.Rounds {
		for turn := range w.tools {
			t := w.tools[(round+turn)%len(w.tools)]
			for _, folder := range folders[t.name] {
				used, err := w.run(t, folder, w.counts[folder], 0)
				if err != nil {
					return nil, err
				}
				s := all[t.name+" "+folder]
				if s == nil {
					s = &series{objects: w.counts[folder]}
					all[t.name+" "+folder] = s
				}
				s.wall, s.cpu = append(s.wall, used.Wall), append(s.cpu, used.CPU)
				s.peak = append(s.peak, float64(used.Peak))
			}
		}
	}
	medians := map[string]measured{}
	for key, s := range all {
		medians[key] = measured{median(s.wall), median(s.cpu), median(s.peak), s.objects}
	}
	return medians, nil
}
