import java.io.File;
import java.nio.charset.StandardCharsets;
import org.deidentifier.arx.ARXAnonymizer;
import org.deidentifier.arx.ARXConfiguration;
import org.deidentifier.arx.ARXResult;
import org.deidentifier.arx.AttributeType;
import org.deidentifier.arx.AttributeType.Hierarchy;
import org.deidentifier.arx.Data;
import org.deidentifier.arx.DataHandle;
import org.deidentifier.arx.criteria.KAnonymity;
import org.deidentifier.arx.metric.Metric;

/**
 * ARX: table.csv, folder of hierarchies, out.csv, k, and how: a suppression limit for one level in the whole table,
 * or "local" with the number of steps, 0 for a step per row.
 */
public class Arx {

    public static void main(String[] given) throws Exception {
        Data data = Data.create(given[0], StandardCharsets.UTF_8, ',');
        DataHandle raw = data.getHandle();
        for (int i = 0; i < raw.getNumColumns(); i++) {
            String name = raw.getAttributeName(i);
            File tree = new File(given[1], name + ".csv");
            data.getDefinition().setAttributeType(name, AttributeType.QUASI_IDENTIFYING_ATTRIBUTE);
            data.getDefinition().setHierarchy(name, Hierarchy.create(tree, StandardCharsets.UTF_8, ';'));
        }
        boolean local = given[4].equals("local");
        ARXConfiguration goal = ARXConfiguration.create();
        goal.addPrivacyModel(new KAnonymity(Integer.parseInt(given[3])));
        double step = local ? 1d / steps(given[5], raw.getNumRows()) : 0d;
        // For local recoding its desktop program sets both: the factor, and a limit that leaves a step's rows.
        goal.setQualityModel(local ? Metric.createLossMetric(0d) : Metric.createLossMetric());
        goal.setSuppressionLimit(local ? 1d - step : Double.parseDouble(given[4]));
        ARXResult result = new ARXAnonymizer().anonymize(data, goal);
        if (!result.isResultAvailable()) {
            System.err.println("it found no release");
            System.exit(3);
        }
        DataHandle released = result.getOutput(false);
        if (local) {
            result.optimizeIterativeFast(released, step);
        }
        released.save(given[2], ',');
    }

    private static double steps(String given, int rows) {
        int steps = Integer.parseInt(given);
        return steps == 0 ? rows : steps;
    }
}
